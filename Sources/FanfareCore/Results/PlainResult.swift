internal import FanfareJSON
public import FanfareModel

/// The usual final word: FCM took the message, once as far as anybody knows, and there is no more to say. What
/// ``ResultRecord`` says of any recipient, for the one case that nearly all are.
public struct PlainResult: Equatable, Sendable {
    /// The recipient's index in the order the producer gave.
    public var index: Int
    public var kind: RecipientKind
    public var recipient: String
    /// Empty when the answer's body was lost.
    public var messageID: String
    /// Attempts that count.
    public var attempts: Int

    /// Bytes of an object beside its recipient and its id, about.
    private static let frame = 96

    public init(index: Int, kind: RecipientKind, recipient: String, messageID: String, attempts: Int) {
        self.index = index
        self.kind = kind
        self.recipient = recipient
        self.messageID = messageID
        self.attempts = attempts
    }

    /// What a record says that has no more to say.
    public init(_ record: ResultRecord) {
        self.init(
            index: Int(record.index),
            kind: record.kind,
            recipient: record.recipient,
            messageID: record.messageID,
            attempts: record.attempts
        )
    }

    /// Appends this result as one JSON object, as ``ResultRecord/appendJSON(to:)`` does.
    ///
    /// - Parameter maybeDup: the recipient may have got the message more than once after all.
    public func appendJSON(to bytes: inout [UInt8], maybeDup: Bool = false) {
        // The first, and for most jobs the only one.
        if bytes.isEmpty { bytes.reserveCapacity(Self.frame + recipient.utf8.count + messageID.utf8.count) }
        bytes.append(literal: "{\"i\":")
        bytes.appendDecimal(Int64(index))
        bytes.append(literal: ",\"")
        bytes.append(contentsOf: kind.rawValue.utf8)
        bytes.append(literal: "\":")
        bytes.appendJSONString(recipient)
        bytes.append(literal: ",\"status\":\"sent\",\"message_id\":")
        bytes.appendJSONString(messageID)
        bytes.append(literal: ",\"attempts\":")
        bytes.appendDecimal(Int64(attempts))
        if maybeDup { bytes.append(literal: ",\"maybe_dup\":true") }
        bytes.append(UInt8(ascii: "}"))
    }
}
