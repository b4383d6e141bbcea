// The part of FirebaseMessaging that the Objective-C sample uses. The signatures are Google's.
#pragma once
#import <UIKit/UIKit.h>

@interface FIRMessagingMessageInfo : NSObject
@end

@interface FIRMessagingExtensionHelper : NSObject
- (void)exportDeliveryMetricsToBigQueryWithMessageInfo:(NSDictionary *)info;
@end

@interface FIRMessaging : NSObject
+ (instancetype)messaging;
+ (FIRMessagingExtensionHelper *)extensionHelper;
@property(nonatomic, copy) NSData *APNSToken;
- (FIRMessagingMessageInfo *)appDidReceiveMessage:(NSDictionary *)message;
@end
