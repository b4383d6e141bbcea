// The part of Foundation and UIKit that the Objective-C sample uses. The signatures are Apple's; optional methods are
// required here, so that a misspelt one does not compile.
#pragma once

typedef signed char BOOL;
#define YES ((BOOL)1)
typedef unsigned long NSUInteger;

@protocol NSObject
@end

__attribute__((objc_root_class))
@interface NSObject <NSObject>
@end

@interface NSString : NSObject
@end

@interface NSConstantString : NSString
@end

@interface NSData : NSObject
@end

@interface NSDictionary : NSObject
- (id)objectForKeyedSubscript:(id)key;
@end

void NSLog(NSString *format, ...) __attribute__((format(__NSString__, 1, 2)));

typedef enum UIBackgroundFetchResult : NSUInteger {
  UIBackgroundFetchResultNewData,
  UIBackgroundFetchResultNoData,
  UIBackgroundFetchResultFailed
} UIBackgroundFetchResult;

@interface UIResponder : NSObject
@end

@interface UIApplication : UIResponder
- (void)registerForRemoteNotifications;
@end

@protocol UIApplicationDelegate <NSObject>
- (BOOL)application:(UIApplication *)application didFinishLaunchingWithOptions:(NSDictionary *)launchOptions;
- (void)application:(UIApplication *)application
    didReceiveRemoteNotification:(NSDictionary *)userInfo
          fetchCompletionHandler:(void (^)(UIBackgroundFetchResult result))completionHandler;
- (void)application:(UIApplication *)application
    didRegisterForRemoteNotificationsWithDeviceToken:(NSData *)deviceToken;
@end
