/// Where a request goes. A worker has a channel for each route that its project uses.
public struct Route: Hashable, Sendable {
    /// The route's place among the channels of a worker, 0 to 7.
    public let number: Int

    /// Maximum number of routes.
    public static let most = 8

    public init(_ number: Int) {
        precondition((0..<Self.most).contains(number), "a route's number is below \(Self.most)")
        self.number = number
    }

    /// FCM over HTTP.
    public static let fcm = Route(0)
    /// The Instance ID service.
    public static let instanceID = Route(1)
    public static let xmpp = Route(2)

    /// Whether its requests go over HTTP to an origin, and not over connections to a host and port of their own.
    public var isHTTP: Bool { self != .xmpp }
}

/// How many topics and operators a condition may have.
public struct ConditionLimits: Equatable, Sendable {
    public var topics: Int
    public var operators: Int

    public init(topics: Int = .max, operators: Int = .max) { (self.topics, self.operators) = (topics, operators) }
}

/// What a transport takes and needs: a row for each. Other parts read the row, and never ask which transport it is.
public struct TransportTraits: Equatable, Sendable {
    /// The proof of a project's right to send.
    public enum Identity: Sendable {
        /// An access token, which a service account or another credential obtains.
        case accessToken
        /// A server key, in a header of each request.
        case serverKey
        /// A server key and the sender id, on each connection.
        case login
    }

    /// The forms of a platform's own answers. An answer in another form came from a proxy, a firewall or a portal.
    public enum AnswerForms: Sendable {
        /// JSON, and of an error Google's object.
        case google
        /// Those, plain text, and the pages and sentences of FCM's legacy interface.
        case legacy
    }

    /// Members of a message that not every transport can carry.
    public enum MessagePart: Sendable {
        /// `delivery_receipt_requested`.
        case deliveryReceipt
        /// `restricted_package_name`.
        case packageName
        /// Notification, priority and every other member that plain text has no option for.
        case display
    }

    /// As the setting `transport` names it.
    public var label: String
    /// The name of the service that takes the messages.
    public var service = "FCM"
    /// The route of messages.
    public var route: Route
    /// The kinds of recipients that a message can be sent to.
    public var kinds: Set<RecipientKind>
    public var parts: Set<MessagePart>
    /// Where a part has no counterpart, such as `over XMPP`.
    public var form: String
    public var conditions: ConditionLimits
    public var identity: Identity
    /// Scheme and host where a project names none.
    public var origin = "https://fcm.googleapis.com"
    /// The path of messages; `{project}` stands for the id that the credential names.
    public var sendPath: String
    /// Whether one request carries a batch. Its watermark then covers the batch.
    public var isMulticast = false
    /// The size of an answer to a message, in bytes. A longer answer is cut.
    public var maximumAnswerBytes = 16_384
    /// Whether each complete result at the front of a cut answer counts.
    public var usesCutAnswers = false
    /// The answers that are the platform's own.
    public var answers = AnswerForms.google
    /// Whether topics and device groups are managed with the project's credential. If not, no such request leaves.
    public var hasManagement = true

    public static let v1 = TransportTraits(
        label: "v1",
        route: .fcm,
        kinds: Set(RecipientKind.allCases),
        parts: [.packageName, .display],
        form: "over v1",
        conditions: ConditionLimits(topics: 5),
        identity: .accessToken,
        sendPath: "/v1/projects/{project}/messages:send"
    )

    public static let multicast = TransportTraits(
        label: "legacy",
        route: .fcm,
        kinds: [.token, .topic, .condition, .group],
        parts: [.packageName, .display],
        form: "over HTTP",
        conditions: ConditionLimits(operators: 2),
        identity: .serverKey,
        sendPath: "/fcm/send",
        isMulticast: true,
        // A thousand results, each with an id and perhaps a canonical token.
        maximumAnswerBytes: 262_144,
        usesCutAnswers: true,
        answers: .legacy
    )

    public static let plainText = TransportTraits(
        label: "legacy",
        route: .fcm,
        kinds: [.token],
        parts: [.packageName],
        form: "in plain text",
        conditions: ConditionLimits(operators: 2),
        identity: .serverKey,
        sendPath: "/fcm/send",
        maximumAnswerBytes: 262_144,
        usesCutAnswers: true,
        answers: .legacy
    )

    public static let xmpp = TransportTraits(
        label: "xmpp",
        route: .xmpp,
        kinds: [.token, .topic, .condition, .group],
        parts: [.deliveryReceipt, .display],
        form: "over XMPP",
        conditions: ConditionLimits(operators: 2),
        identity: .login,
        sendPath: "/fcm/send"
    )

    public var usesAccessToken: Bool { identity == .accessToken }

    /// The path of messages of a project.
    ///
    /// - Parameter project: the id that the credential names.
    public func sendPath(project: String) -> String { sendPath.replacing("{project}", with: project) }

    /// Why a recipient of this kind cannot be sent to; nil if it can.
    public func fault(of kind: RecipientKind) -> String? {
        if kinds.contains(kind) { return nil }
        return kind == .fid ? only(.v1) : noCounterpart
    }

    /// Why a message cannot have this part; nil if it can.
    public func fault(of part: MessagePart) -> String? {
        if parts.contains(part) { return nil }
        return part == .deliveryReceipt ? only(.xmpp) : noCounterpart
    }

    /// Why an operation cannot be carried out; nil if it can.
    public func fault(of operation: Operation) -> String? {
        operation == .send || hasManagement ? nil : noCounterpart
    }

    private var noCounterpart: String { "has no counterpart \(form)" }

    private func only(_ other: TransportTraits) -> String {
        "only with the \(other.label) transport, this project's is \(label)"
    }
}

extension Transport {
    /// - Parameter body: the form of a legacy request, which no other transport has.
    public func traits(body: LegacyBody = .json) -> TransportTraits {
        switch self {
        case .v1: .v1
        case .legacy: body == .text ? .plainText : .multicast
        case .xmpp: .xmpp
        }
    }
}
