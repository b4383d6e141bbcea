// The part of Google's library FirebaseMessaging that the samples on the pages about Apple use. The signatures are
// Google's. It keeps what it is given, for the driver to print.
public import Foundation
public import UserNotifications

open class MessagingMessageInfo: NSObject {}

open class Messaging: NSObject {
    private nonisolated(unsafe) static let shared = Messaging()
    private nonisolated(unsafe) static let helper = MessagingExtensionHelper()

    open class func messaging() -> Messaging { shared }
    open class func serviceExtension() -> MessagingExtensionHelper { helper }

    open var apnsToken: Data?
    /// How many messages Analytics was told of.
    public private(set) var told = 0

    @discardableResult
    open func appDidReceiveMessage(_ message: [AnyHashable: Any]) -> MessagingMessageInfo {
        told += 1
        return MessagingMessageInfo()
    }
}

open class MessagingExtensionHelper: NSObject {
    /// How many deliveries were exported.
    public private(set) var exported = 0
    /// The picture does not come in time.
    public var isSlow = false

    open func exportDeliveryMetricsToBigQuery(withMessageInfo info: [AnyHashable: Any]) { exported += 1 }

    open func populateNotificationContent(
        _ content: UNMutableNotificationContent,
        withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {
        if !isSlow { contentHandler(content) }
    }
}
