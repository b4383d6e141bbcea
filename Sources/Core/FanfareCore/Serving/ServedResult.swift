public import FanfareModel

/// The result of a recipient that a request waits for, as the `results` stream holds it.
public struct ServedResult: Equatable, Sendable {
    public var status: ResultStatus
    public var kind: RecipientKind
    /// A token, a fid, a topic's name, a condition or a group's key.
    public var recipient: String
    /// `projects/{p}/messages/{id}`; nil if the body of FCM's answer was lost, and for every other status.
    public var messageID: String?
    /// The token to use from now on.
    public var canonical: String?
    /// An ``ErrorCode``, such as `UNREGISTERED`.
    public var error: String?
    /// FCM's own error code.
    public var rawError: String?
    public var httpStatus: Int64?
    /// The advice to the producer, a ``RemedyAction``, such as `remove`.
    public var action: String?
    /// Members of a device group that did not get the message.
    public var failedTokens: [String]
    /// The key of a device group after a successful operation.
    public var group: String?
    /// The topics of the token after a successful `topic.list`.
    public var topics: [String]?

    public init(
        status: ResultStatus,
        kind: RecipientKind,
        recipient: String,
        messageID: String? = nil,
        canonical: String? = nil,
        error: String? = nil,
        rawError: String? = nil,
        httpStatus: Int64? = nil,
        action: String? = nil,
        failedTokens: [String] = [],
        group: String? = nil,
        topics: [String]? = nil
    ) {
        (self.status, self.kind, self.recipient) = (status, kind, recipient)
        (self.messageID, self.canonical) = (messageID, canonical)
        (self.error, self.rawError, self.httpStatus) = (error, rawError, httpStatus)
        self.action = action
        (self.failedTokens, self.group, self.topics) = (failedTokens, group, topics)
    }
}
