public import FanfareModel

/// A job to push: a message and its recipients, or a change to a topic or a device group.
///
/// Workers validate the fields: a job that breaks a rule gets the state `rejected` and a reason that names the field.
public struct PushJob: Equatable, Sendable {
    public let operation: Operation
    /// The recipients of the message, the tokens of a subscription, or the key of a device group.
    public var target: Target
    /// A JSON object: an FCM v1 `Message` without its target or, with ``format`` `.legacy`, a legacy body without its.
    public var message: [UInt8]
    public var format: MessageFormat = .v1
    /// Your own id, 1 to 128 of `A-Z a-z 0-9 . _ : -`. Pushed again within the dedupe window (24 h unless configured),
    /// the job is not sent again: with an id, pushing is idempotent. nil: the job gets the id of its stream entry.
    public var id: String?
    /// 0 to 9, higher first; nil for 5.
    public var priority: Int?
    /// Unix milliseconds before which nothing is sent. A push of seconds or microseconds throws.
    public var notBefore: Int64?
    /// Unix milliseconds after which unsent recipients are given up; in the same unit.
    public var expiresAt: Int64?
    /// Has FCM validate the message without delivering it.
    public var validateOnly = false
    /// Which results are written; `.unsaid` decides by the number of recipients.
    public var results: ResultsPolicy = .unsaid
    /// nil for `.atLeastOnce`.
    public var delivery: DeliveryMode?
    /// Estimated number of subscribers of a topic or a condition.
    public var audienceSize: Int64?
    /// `.json` for an audience whose elements are the recipients of a personal job; nil for tokens.
    public var audienceFormat: AudienceFormat?
    /// Personal jobs only: a JSON object of partial messages by name, merged over ``message``; see ``setVariants(_:)``.
    public var variants: [UInt8]?
    /// Rate, canary, conditions that stop the job, and hours in which it sends.
    public var guards = JobGuards()
    /// W3C trace context of the request that pushes the job; workers' spans refer to it.
    public var traceparent: String?
    /// Only with ``traceparent``.
    public var tracestate: String?

    /// Further fields of an operation without a message.
    let management: Management

    struct Management: Equatable, Sendable {
        var topic = ""
        var groupName = ""
        /// The tokens of an operation on a group.
        var members: [String] = []
    }

    /// A job that sends a message of at most 65,536 bytes to at least one token or fid, or to another target.
    public init(target: Target, message: [UInt8]) {
        self.init(.send, target: target, message: message)
    }

    init(_ operation: Operation, target: Target, message: [UInt8] = [], management: Management = Management()) {
        self.operation = operation
        self.target = target
        self.message = message
        self.management = management
    }

    /// A job that sends a message given as text.
    public init(target: Target, message: String) { self.init(target: target, message: Array(message.utf8)) }

    /// A job that sends a typed message. Its JSON is made here, so that later changes of `message` do not matter.
    public init(target: Target, message: Message) { self.init(target: target, message: message.jsonBytes) }
}
