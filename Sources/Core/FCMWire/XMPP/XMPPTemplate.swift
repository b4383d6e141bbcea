internal import FanfareJSON
public import FanfareModel

/// A message prepared once as the JSON of an XMPP stanza: a legacy body with a `message_id` of its own.
public struct XMPPTemplate: Sendable {
    /// The message's time to live; nil without one.
    public let lifetime: MessageLifetime?
    /// Bytes of the stanza after the target and the id.
    let tail: [UInt8]

    /// - Throws: naming the first field that cannot travel over XMPP, such as `message.restricted_package_name`.
    public init(_ source: SourceMessage) throws(TranslationError) {
        lifetime = source.lifetime
        tail = try source.legacy(.xmpp).memberBytes + [UInt8(ascii: "}")]
    }

    /// Appends the JSON for one recipient, not escaped for XML. A topic comes without `/topics/`.
    ///
    /// - Parameter messageID: unique among the messages of the sender id; see ``XMPPMessageID``.
    public func render(kind: RecipientKind, recipient: String, messageID: String, into json: inout [UInt8]) {
        Self.appendHead(kind: kind, recipient: recipient, messageID: messageID, tailCount: tail.count, to: &json)
        json.append(contentsOf: tail)
    }

    /// Appends what precedes the tail: the target and the id.
    ///
    /// - Parameter tailCount: bytes that will follow; room is reserved for them.
    static func appendHead(
        kind: RecipientKind,
        recipient: String,
        messageID: String,
        tailCount: Int,
        to json: inout [UInt8]
    ) {
        json.reserveCapacity(json.count + tailCount + recipient.utf8.count + messageID.utf8.count + 48)
        json.append(contentsOf: kind == .condition ? conditionHead : toHead)
        json.appendJSONString(kind == .topic ? "/topics/" + recipient : recipient)
        json.append(contentsOf: idHead)
        json.appendJSONString(messageID)
    }

    private static let toHead = Array(#"{"to":"#.utf8)
    private static let conditionHead = Array(#"{"condition":"#.utf8)
    private static let idHead = Array(#","message_id":"#.utf8)
}
