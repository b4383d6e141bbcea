/// A producer's job, after every field has been checked.
public struct Job: Equatable, Sendable {
    /// What `not_before` and `expires_at` may be, Unix milliseconds: 1973 to 5138. Seconds and microseconds of the present are
    /// outside.
    public static let times: ClosedRange<Int64> = 100_000_000_000...99_999_999_999_999

    /// The unit of a time of our days that is outside ``times``, as a question with its remedy.
    /// - Parameter text: decimal digits; nil for any other text.
    public static func unitAdvice(_ text: some Collection<UInt8>) -> String? {
        guard DecimalText.isDigits(text) else { return nil }
        switch text.drop(while: { $0 == UInt8(ascii: "0") }).count {
        case 9...11: return "seconds? multiply by 1000"
        case 15...16: return "microseconds? divide by 1000"
        case 17...19: return "nanoseconds? divide by 1000000"
        default: return nil
        }
    }

    /// Why a text is no time of a job: the rule, and the remedy for a time in another unit; nil for a time.
    public static func timeFault(_ text: String) -> String? {
        if let number = DecimalText.parse(text.utf8), times.contains(number) { return nil }
        let rule = "\(text.prefix(40)) is not \(times.lowerBound) to \(times.upperBound)"
        return rule + (unitAdvice(text.utf8).map { "; \($0)" } ?? "")
    }

    /// The priority of a job that sets none.
    public static let usualPriority = 5

    /// The producer's id, or the entry's stream id.
    public var id: String
    /// True when the producer gave ``id``; only such jobs are remembered for the dedupe window.
    public var hasOwnID: Bool
    /// The stream entry this came from.
    public var entryID: String
    public var operation: Operation
    /// The recipients of a message, the tokens of a subscription, or the group of an operation.
    public var target: Target
    /// The bare name of the topic that a subscription is for; empty otherwise.
    public var subscription: String
    /// The name of the group that an operation is for; empty otherwise.
    public var groupName: String
    /// The tokens that a group operation is for, at most 20.
    public var members: [String]
    /// The producer's `message`, byte for byte; checked against ``format``.
    public var message: [UInt8]
    public var format: MessageFormat
    /// 0 to 9, higher first.
    public var priority: Int
    /// Unix milliseconds; 0 when there is none.
    public var notBefore: Int64
    /// Unix milliseconds; 0 when there is none.
    public var expiresAt: Int64
    public var validateOnly: Bool
    public var results: ResultsPolicy
    public var delivery: DeliveryMode
    public var traceparent: String?
    public var tracestate: String?
    /// The producer's estimate of a topic's subscribers; nil when not given.
    public var audienceSize: Int64?
    /// Whether each recipient has values of its own: the recipients are JSON objects then, one a line.
    public var isPersonal = false
    /// The field `variants` of a personal job, byte for byte; nil without it.
    public var variants: [UInt8]?
    public var guards = JobGuards()

    public init(
        id: String,
        hasOwnID: Bool,
        entryID: String,
        operation: Operation = .send,
        target: Target,
        subscription: String = "",
        groupName: String = "",
        members: [String] = [],
        message: [UInt8],
        format: MessageFormat = .v1,
        priority: Int = Job.usualPriority,
        notBefore: Int64 = 0,
        expiresAt: Int64 = 0,
        validateOnly: Bool = false,
        results: ResultsPolicy = .unsaid,
        delivery: DeliveryMode = .atLeastOnce,
        traceparent: String? = nil,
        tracestate: String? = nil,
        audienceSize: Int64? = nil
    ) {
        self.id = id
        self.hasOwnID = hasOwnID
        self.entryID = entryID
        self.operation = operation
        self.target = target
        self.subscription = subscription
        self.groupName = groupName
        self.members = members
        self.message = message
        self.format = format
        self.priority = priority
        self.notBefore = notBefore
        self.expiresAt = expiresAt
        self.validateOnly = validateOnly
        self.results = results
        self.delivery = delivery
        self.traceparent = traceparent
        self.tracestate = tracestate
        self.audienceSize = audienceSize
    }
}

/// Operation of a job. Everything but ``send`` is management: it carries no message and is never a fan-out.
public enum Operation: String, Equatable, Sendable, CaseIterable {
    case send, subscribe, unsubscribe
    case topicList = "topic.list"
    case groupCreate = "group.create"
    case groupAdd = "group.add"
    case groupRemove = "group.remove"
    case groupGet = "group.get"

    public var isSubscription: Bool { self == .subscribe || self == .unsubscribe }
    public var isGroupOperation: Bool { self != .send && self != .topicList && !isSubscription }
}

/// Where a job goes.
public enum Target: Equatable, Sendable {
    /// One or more registration tokens, in the producer's order.
    case tokens(RecipientList)
    /// One or more Firebase installation ids, in the producer's order.
    case fids(RecipientList)
    /// A bare topic name, without `/topics/`.
    case topic(String)
    case condition(String)
    /// A device group's `notification_key`.
    case group(String)
    /// A Redis key of type LIST or SET that holds tokens, or the recipients of a personal job.
    case audience(key: String)
    /// One or more recipients of a personal job as JSON objects, one a line, in the producer's order.
    case recipients(RecipientList)

    /// The kind of the recipients. Each recipient of a personal job may have another one, `fid`.
    public var kind: RecipientKind {
        switch self {
        case .tokens, .audience, .recipients: return .token
        case .fids: return .fid
        case .topic: return .topic
        case .condition: return .condition
        case .group: return .group
        }
    }
}

/// The kind of a recipient's name. The raw value is its key in a result, and except for `group` its field in a v1 message.
public enum RecipientKind: String, Equatable, Sendable, CaseIterable {
    case token, fid, topic, condition, group
}

public enum MessageFormat: String, Equatable, Sendable, CaseIterable { case v1, legacy }

public enum ResultsPolicy: String, Equatable, Sendable, CaseIterable {
    case all, failures, none
    /// `all` up to 1,000 recipients, `failures` above.
    case unsaid = ""

    /// The policy in force once the number of recipients is known.
    public func resolved(total: Int) -> ResultsPolicy {
        self == .unsaid ? (total <= Batch.maximumSize ? .all : .failures) : self
    }
}

public enum DeliveryMode: String, Equatable, Sendable, CaseIterable {
    case atLeastOnce = "at_least_once"
    case atMostOnce = "at_most_once"
    case replace
}
