/// A message on its way to one token, apart from how it is to be treated there.
struct AcceptedMessage: Equatable, Sendable {
    /// What it was addressed to, which the app may have replaced since.
    var token: String
    var messageID: String
    var senderID: String
    /// `/topics/x` for a topic's subscriber.
    var from: String?
    var source: Delivery.Source
    /// When the send was answered, Unix milliseconds.
    var acceptedMs: Int64
    /// As the sender asked for it.
    var priority = MessagePriority.normal
}

/// A message that cannot be delivered yet, and its terms.
struct StoredMessage: Equatable, Sendable {
    var accepted: AcceptedMessage
    /// Shared by messages of which only the latest is worth having; nil for one that does not collapse.
    var collapseKey: String?
    /// Unix milliseconds.
    var expiresMs: Int64
    /// It is not stored at all.
    var isNowOrNever: Bool
    var isSilent: Bool
    /// A data message: one without a notification.
    var isData: Bool
    /// Unix milliseconds; 0 for at once.
    var heldUntilMs: Int64 = 0

    init(_ accepted: AcceptedMessage, options: DeliveryOptions, package: String?) {
        self.accepted = accepted
        self.accepted.priority = options.priority
        switch options.collapse {
        case .never: collapseKey = nil
        // Without a name of its own the app still has one key for all of them.
        case .underPackage: collapseKey = package ?? ""
        case .under(let key): collapseKey = key
        }
        expiresMs = options.lifetime.expiryMs(acceptedMs: accepted.acceptedMs)
        isNowOrNever = options.lifetime.isNowOrNever(acceptedMs: accepted.acceptedMs)
        isSilent = options.isSilent
        isData = !options.isNotification
    }

    /// Counted by the throttle of collapsible messages.
    var isThrottled: Bool { collapseKey != nil && !isNowOrNever }

    /// Roughly; a multicast's messages share one body.
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
    /// A silent push to an Apple device that lets none through.
    case silent
    /// The simulator's own memory is spent.
    case noRoom = "no_room"
}
