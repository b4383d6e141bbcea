// The part of Apple's framework UserNotifications that the samples on the pages about Apple use. The signatures are
// Apple's. Swift makes two forms of an Objective-C method with a completion handler; `OTHER_FORMS` selects the ones that
// the page "ReceivingOnAppleForms" shows.
@_exported public import Foundation

public struct UNNotificationPresentationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let badge = Self(rawValue: 1 << 0)
    public static let sound = Self(rawValue: 1 << 1)
    @available(iOS, introduced: 10.0, deprecated: 14.0)
    public static let alert = Self(rawValue: 1 << 2)
    @available(iOS 14.0, *)
    public static let list = Self(rawValue: 1 << 3)
    @available(iOS 14.0, *)
    public static let banner = Self(rawValue: 1 << 4)
}

public struct UNNotificationActionOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
}

public struct UNNotificationCategoryOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
}

public let UNNotificationDefaultActionIdentifier = "com.apple.UNNotificationDefaultActionIdentifier"

open class UNNotificationContent: NSObject, NSCopying, NSMutableCopying {
    public internal(set) var userInfo: [AnyHashable: Any]
    public init(userInfo: [AnyHashable: Any] = [:]) { self.userInfo = userInfo }
    public func copy(with zone: NSZone? = nil) -> Any { UNNotificationContent(userInfo: userInfo) }
    public func mutableCopy(with zone: NSZone? = nil) -> Any { UNMutableNotificationContent(userInfo: userInfo) }
}

open class UNMutableNotificationContent: UNNotificationContent {}

open class UNNotificationRequest: NSObject {
    public let content: UNNotificationContent
    public init(content: UNNotificationContent) { self.content = content }
}

open class UNNotification: NSObject {
    public let request: UNNotificationRequest
    public init(request: UNNotificationRequest) { self.request = request }
}

open class UNNotificationResponse: NSObject {
    public let notification: UNNotification
    public let actionIdentifier: String
    public init(notification: UNNotification, actionIdentifier: String) {
        self.notification = notification
        self.actionIdentifier = actionIdentifier
    }
}

open class UNNotificationAction: NSObject {
    public let identifier: String
    public init(identifier: String, title: String, options: UNNotificationActionOptions = []) {
        self.identifier = identifier
    }
}

open class UNTextInputNotificationAction: UNNotificationAction {}

open class UNNotificationCategory: NSObject {
    public let identifier: String
    public let actions: [UNNotificationAction]
    public init(
        identifier: String,
        actions: [UNNotificationAction],
        intentIdentifiers: [String],
        options: UNNotificationCategoryOptions = []
    ) {
        self.identifier = identifier
        self.actions = actions
    }
}

/// The methods are optional at Apple. Here they are required, so that a misspelt one does not compile.
public protocol UNUserNotificationCenterDelegate: AnyObject {
    #if OTHER_FORMS
        func userNotificationCenter(
            _ center: UNUserNotificationCenter,
            willPresent notification: UNNotification
        ) async -> UNNotificationPresentationOptions
        func userNotificationCenter(
            _ center: UNUserNotificationCenter,
            didReceive response: UNNotificationResponse
        ) async
    #else
        func userNotificationCenter(
            _ center: UNUserNotificationCenter,
            willPresent notification: UNNotification,
            withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
        )
        func userNotificationCenter(
            _ center: UNUserNotificationCenter,
            didReceive response: UNNotificationResponse,
            withCompletionHandler completionHandler: @escaping () -> Void
        )
    #endif
}

open class UNUserNotificationCenter: NSObject {
    private nonisolated(unsafe) static let center = UNUserNotificationCenter()

    open class func current() -> UNUserNotificationCenter { center }

    /// Weak, as Apple's: an app keeps its delegate itself.
    open weak var delegate: (any UNUserNotificationCenterDelegate)?
    public private(set) var categories: Set<UNNotificationCategory> = []

    open func setNotificationCategories(_ categories: Set<UNNotificationCategory>) { self.categories = categories }
}

open class UNNotificationServiceExtension: NSObject {
    open func didReceive(
        _ request: UNNotificationRequest,
        withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {}
    open func serviceExtensionTimeWillExpire() {}
}
