public import FanfareJSON
public import FanfareModel

/// The result of a recipient, as an entry of the `results` stream holds it.
public struct JobResult: Equatable, Sendable {
    /// The recipient's index in the order the producer gave.
    public var index: Int64
    /// A token, a fid, a topic's name, a condition or a group's key.
    public var recipient: String
    public var kind: RecipientKind
    public var status: ResultStatus
    /// FCM's id of the message; empty if the body of FCM's answer was lost.
    public var messageID: String?
    public var attempts: Int64
    /// True if the recipient may have got the message more than once.
    public var mayBeDuplicate: Bool
    /// The token to use from now on.
    public var canonical: String?
    public var error: String?
    /// FCM's own error code.
    public var rawError: String?
    public var httpStatus: Int64?
    /// The recommended action: `none`, `remove`, `replace`, `fix_message` or `fix_credentials`.
    public var action: String?
    /// Members of a device group that did not get the message.
    public var failedTokens: [String]
    /// The key of a device group after a successful operation. It may differ from the given key; both are valid.
    public var group: String?
    /// The name of the group of an operation; nil for every other result.
    public var groupName: String?
    /// The topics of the token after a successful `topic.list`; nil for every other result.
    public var topics: [String]?
    /// The whole object, with fields that later versions add.
    public var json: JSONObject

    public init?(_ value: JSONValue) {
        guard let object = value.object, let index = object["i"]?.number?.int64,
            let status = object["status"]?.string.flatMap(ResultStatus.init(rawValue:)),
            let kind = RecipientKind.allCases.first(where: { object[$0.rawValue]?.string != nil }),
            let recipient = object[kind.rawValue]?.string
        else { return nil }
        self.index = index
        self.status = status
        self.kind = kind
        self.recipient = recipient
        messageID = object["message_id"]?.string
        attempts = object["attempts"]?.number?.int64 ?? 0
        mayBeDuplicate = object["maybe_dup"]?.bool ?? false
        canonical = object["canonical"]?.string
        error = object["error"]?.string
        rawError = object["raw_error"]?.string
        httpStatus = object["http_status"]?.number?.int64
        action = object["action"]?.string
        failedTokens = (object["failed_tokens"]?.array ?? []).compactMap(\.string)
        topics = object["topics"]?.array?.compactMap(\.string)
        groupName = object["group_name"]?.string
        group = groupName == nil || status != .sent ? nil : object["group"]?.string
        json = object
    }
}
