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
        guard recipient.isPlainJSON, messageID.isPlainJSON else {
            return ResultRecord(self, maybeDup: maybeDup).appendJSON(to: &bytes)
        }
        bytes.append(addingCapacity: Self.frame + recipient.utf8.count + messageID.utf8.count) { span in
            Self.begin(index, kind, into: &span)
            span.put(recipient)
            span.put(literal: Self.middle)
            span.put(messageID)
            Self.end(attempts, maybeDup: maybeDup, into: &span)
        }
    }

    /// Appends what a result would say of parts of other texts, UTF-8.
    ///
    /// - Parameter recipient: a token has to be one that ``RecipientRules/isToken(_:)-(SharedText)`` accepts, as each is
    ///   before it is sent to: it is written as it is.
    public static func appendJSON(
        index: Int,
        kind: RecipientKind,
        recipient: SharedText,
        messageID: ArraySlice<UInt8>,
        attempts: Int,
        to bytes: inout [UInt8]
    ) {
        // A token has been looked at before it was sent to, and its alphabet needs no escape.
        assert(kind != .token || recipient.bytes.isPlainJSON, "nothing is sent to what is no token")
        guard kind == .token || recipient.bytes.isPlainJSON, messageID.isPlainJSON else {
            let id = String(decoding: messageID, as: UTF8.self)
            return PlainResult(index: index, kind: kind, recipient: recipient.string, messageID: id, attempts: attempts)
                .appendJSON(to: &bytes)
        }
        bytes.append(addingCapacity: frame + recipient.count + messageID.count) { span in
            begin(index, kind, into: &span)
            span.put(recipient)
            span.put(literal: middle)
            span.put(messageID)
            end(attempts, maybeDup: false, into: &span)
        }
    }

    /// Bytes of an object beside its recipient and its id, at most: its numbers have 20 digits, its kind 9 letters.
    private static let frame = 128

    @inline(__always)
    private static func begin(_ index: Int, _ kind: RecipientKind, into span: inout OutputSpan<UInt8>) {
        span.put(literal: "{\"i\":")
        span.put(decimal: index)
        span.put(literal: ",\"")
        span.put(kind.rawValue)
        span.put(literal: "\":\"")
    }

    private static var middle: StaticString { "\",\"status\":\"sent\",\"message_id\":\"" }

    @inline(__always)
    private static func end(_ attempts: Int, maybeDup: Bool, into span: inout OutputSpan<UInt8>) {
        span.put(literal: "\",\"attempts\":")
        span.put(decimal: attempts)
        if maybeDup { span.put(literal: ",\"maybe_dup\":true") }
        span.append(UInt8(ascii: "}"))
    }
}

extension ResultRecord {
    fileprivate init(_ result: PlainResult, maybeDup: Bool) {
        self.init(
            index: Int64(result.index),
            kind: result.kind,
            recipient: result.recipient,
            status: .sent,
            messageID: result.messageID,
            attempts: result.attempts,
            maybeDup: maybeDup
        )
    }
}
