/// A message that FCM accepted for one token, without its delivery options.
struct AcceptedMessage: Equatable, Sendable {
    /// The token it was addressed to. The app may have another one by now.
    var token: String
    var messageID: String
    var senderID: String
    /// `/topics/x` for a topic's subscriber.
    var from: String?
    var source: Delivery.Source
    /// When the send was answered, Unix milliseconds.
    var acceptedMs: Int64
    /// The sender's priority.
    var priority = MessagePriority.normal
    /// The sender gets a receipt when the device has it.
    var wantsReceipt = false

    /// The sender that the message names.
    var sender: String { from ?? senderID }
}

/// A message that cannot be delivered yet, with its delivery options.
struct StoredMessage: Equatable, Sendable {
    var accepted: AcceptedMessage
    /// Only the latest message of a key is stored; nil for a message that does not collapse.
    var collapseKey: ExactText?
    /// Unix milliseconds.
    var expiresMs: Int64
    /// Delivered at once or dropped, never stored.
    var isNowOrNever: Bool
    /// Apple: neither alert nor badge nor sound.
    var isSilent: Bool
    /// A data message: one without a notification.
    var isData: Bool
    /// Until when a low priority delays it, Unix milliseconds; 0 for no delay.
    var heldUntilMs: Int64 = 0

    init(_ accepted: AcceptedMessage, options: DeliveryOptions, package: String?) {
        self.accepted = accepted
        self.accepted.priority = options.priority
        switch options.collapse {
        case .never: collapseKey = nil
        // An app whose package is not known still has one key for all its notifications.
        case .underPackage: collapseKey = ExactText(package ?? "")
        case .under(let key): collapseKey = ExactText(key)
        }
        expiresMs = options.lifetime.expiryMs(acceptedMs: accepted.acceptedMs)
        isNowOrNever = expiresMs <= accepted.acceptedMs
        isSilent = options.isSilent
        isData = !options.isNotification
    }

    /// Whether ``Throttle`` counts it.
    var isThrottled: Bool { collapseKey != nil && !isNowOrNever }

    /// Bytes, roughly; the messages of a multicast share one body.
    var size: Int { accepted.source.size + 512 }
}

/// Why an accepted message never reached its device.
enum DropReason: String, Equatable, Sendable, CaseIterable {
    case nowOrNever = "now_or_never"
    case expired, collapsed
    /// A fifth collapse key.
    case tooManyKeys = "too_many_keys"
    case tooManyPending = "too_many_pending"
    case inactive, uninstalled, unregistered
    /// A silent push to an Apple device that does not wake its app.
    case silent
    /// The simulator stores no more bytes.
    case noRoom = "no_room"
}
