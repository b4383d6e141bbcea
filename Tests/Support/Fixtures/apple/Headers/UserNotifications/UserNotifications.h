// The part of UserNotifications that the Objective-C sample uses. The signatures are Apple's.
#pragma once
#import <UIKit/UIKit.h>

typedef enum UNNotificationPresentationOptions : NSUInteger {
  UNNotificationPresentationOptionBadge = 1 << 0,
  UNNotificationPresentationOptionSound = 1 << 1,
  UNNotificationPresentationOptionAlert __attribute__((availability(ios, introduced = 10.0, deprecated = 14.0))) = 1 << 2,
  UNNotificationPresentationOptionList __attribute__((availability(ios, introduced = 14.0))) = 1 << 3,
  UNNotificationPresentationOptionBanner __attribute__((availability(ios, introduced = 14.0))) = 1 << 4
} UNNotificationPresentationOptions;

@interface UNNotificationContent : NSObject
@property(nonatomic, readonly, copy) NSDictionary *userInfo;
@end

@interface UNNotificationRequest : NSObject
@property(nonatomic, readonly, copy) UNNotificationContent *content;
@end

@interface UNNotification : NSObject
@property(nonatomic, readonly, copy) UNNotificationRequest *request;
@end

@interface UNNotificationResponse : NSObject
@property(nonatomic, readonly, copy) UNNotification *notification;
@property(nonatomic, readonly, copy) NSString *actionIdentifier;
@end

@class UNUserNotificationCenter;

@protocol UNUserNotificationCenterDelegate <NSObject>
- (void)userNotificationCenter:(UNUserNotificationCenter *)center
       willPresentNotification:(UNNotification *)notification
         withCompletionHandler:(void (^)(UNNotificationPresentationOptions options))completionHandler;
- (void)userNotificationCenter:(UNUserNotificationCenter *)center
    didReceiveNotificationResponse:(UNNotificationResponse *)response
             withCompletionHandler:(void (^)(void))completionHandler;
@end

@interface UNUserNotificationCenter : NSObject
+ (UNUserNotificationCenter *)currentNotificationCenter;
@property(nonatomic, weak) id<UNUserNotificationCenterDelegate> delegate;
@end
