// The part of FirebaseCore that the Objective-C sample uses. The signatures are Google's.
#pragma once
#import <UIKit/UIKit.h>

@interface FIRApp : NSObject
+ (void)configure;
@end
