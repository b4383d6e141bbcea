public import FanfareModel

/// A job to push: one message and its recipients; or a change to a topic or a device group, as
/// ``subscribe(_:to:)`` and its like make it.
///
/// A value that knows how to become an entry of a project's `jobs` stream. Nothing is checked here beyond what the type
/// says: workers check every field before anything is sent, and a job that breaks a rule comes back with the state
/// `rejected` and a reason that names the field.
public struct PushJob: Equatable, Sendable {
    /// What is asked for.
    public let operation: Operation
    /// Where the message goes; of a subscription its tokens, of an operation on a group the group's key.
    public var target: Target
    /// A JSON object: an FCM v1 `Message` without its target or, with ``format`` `.legacy`, a legacy body without its.
    public var message: [UInt8]
    /// What ``message`` is written in.
    public var format: MessageFormat = .v1
    /// Your own id, 1 to 128 of `A-Z a-z 0-9 . _ : -`. Pushed again within the dedupe window (24 h unless configured),
    /// the job is not sent again: with an id, pushing is safe to repeat. nil: the id Redis gives the entry.
    public var id: String?
    /// 0 to 9, higher first; nil for 5.
    public var priority: Int?
    /// Unix milliseconds before which nothing is sent.
    public var notBefore: Int64?
    /// Unix milliseconds after which unsent recipients are given up.
    public var expiresAt: Int64?
    /// Lets FCM check without delivering.
    public var validateOnly = false
    /// Which results are written; `.unsaid` leaves it to the number of recipients.
    public var results: ResultsPolicy = .unsaid
    /// nil for `.atLeastOnce`.
    public var delivery: DeliveryMode?
    /// Estimate of a topic's or a condition's subscribers.
    public var audienceSize: Int64?
    /// W3C trace context of the request that pushes the job; workers' spans refer to it.
    public var traceparent: String?
    /// Only with ``traceparent``.
    public var tracestate: String?

    /// What an operation without a message has beside its target.
    let management: Management

    struct Management: Equatable, Sendable {
        /// Of a subscription.
        var topic = ""
        var groupName = ""
        /// The tokens that an operation on a group is for.
        var members: [String] = []
    }

    /// A job that sends a message.
    /// - Parameters:
    ///   - target: tokens or fids, at least one; a topic, a condition, a group's key, or the key of an audience.
    ///   - message: a JSON object without the target, at most 65,536 bytes.
    public init(target: Target, message: [UInt8]) {
        self.init(.send, target: target, message: message)
    }

    init(_ operation: Operation, target: Target, message: [UInt8] = [], management: Management = Management()) {
        self.operation = operation
        self.target = target
        self.message = message
        self.management = management
    }

    /// The same with the message as text.
    public init(target: Target, message: String) { self.init(target: target, message: Array(message.utf8)) }
}
