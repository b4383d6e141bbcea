internal import FanfareJSON
internal import FanfareModel
internal import StreamWire

/// The final word on one recipient, written as one object of a results entry.
struct ResultRecord: Equatable, Sendable {
    /// The recipient's index in the order the producer gave.
    var index: Int64
    var recipient: String
    /// Empty when the answer's body was lost, and for every status but `sent`.
    var messageID = ""
    /// The id that replaces this recipient's; only with `sent`.
    var canonical: String?
    /// Written only with `failed`.
    var failure: Failure?
    /// Members of a group that did not get the message; nil when none are known to be left out.
    var failedMembers: [GroupProgress.Member]?
    /// What only an operation's result has; nil for a message.
    var operation: OperationDetail?
    /// Attempts that count.
    var attempts: Int
    // Small fields stand together: a record of at most 128 bytes is copied without a call.
    var kind: RecipientKind
    var status: ResultStatus
    /// The recipient may have got the message more than once.
    var maybeDup = false

    var failedTokens: [String]? { failedMembers?.map(\.token) }

    /// Members of a device group whose tokens the app should forget.
    var deadMembers: [GroupProgress.Member] { (failedMembers ?? []).filter { $0.isDead && $0.error != nil } }

    /// Adopts what a final verdict says; false, and nothing changed, for a verdict that asks for something else first.
    mutating func apply(_ verdict: Verdict) -> Bool {
        switch verdict {
        case .sent(let messageID, let canonical): (self.messageID, self.canonical) = (messageID, canonical)
        case .sentPartly(let messageID, let tokens):
            self.messageID = messageID
            failedMembers = tokens.map { GroupProgress.Member(token: $0, error: nil, isDead: false) }
        case .managed(let group): recipient = group
        case .listed(let names): operation = .topics(names)
        case .failed(let failure): (status, self.failure) = (.failed, failure)
        case .unknown: status = .unknown
        case .retry, .refreshCredential, .blockProject: return false
        }
        return true
    }

    /// The producer's remedy.
    var action: RemedyAction {
        switch status {
        case .failed: return failure?.action ?? .none
        case .sent: return canonical == nil ? .none : .replace
        case .unknown, .cancelled, .expired: return .none
        }
    }

    /// Whether the results stream gets this result under a resolved policy. `unsaid` counts as `all`, and a group's partial
    /// success as a failure.
    func needsRecording(_ policy: ResultsPolicy) -> Bool {
        switch policy {
        case .all, .unsaid: return true
        case .failures: return status != .sent || maybeDup || canonical != nil || failedMembers != nil
        case .none: return false
        }
    }
}

extension ResultRecord {
    /// Appends this result as one JSON object.
    ///
    /// - Parameter isSpare: writes a byte for each ``ResultPhrase`` where that is possible.
    func appendJSON(to bytes: inout [UInt8], isSpare: Bool = false) {
        if isPlain { appendPlain(to: &bytes, isSpare: isSpare) } else { appendAny(to: &bytes) }
    }

    /// Whether it is `sent` without further members, in texts that need no escape, as nearly all are.
    private var isPlain: Bool {
        status == .sent && canonical == nil && failedMembers == nil && operation == nil && recipient.isPlainJSON
            && messageID.isPlainJSON
    }

    /// Bytes of a plain object beside its recipient and its id, at most: its numbers have 20 digits, its kind 9 letters.
    private static let plainFrame = 128

    private func appendPlain(to bytes: inout [UInt8], isSpare: Bool) {
        bytes.append(addingCapacity: Self.plainFrame + recipient.utf8.count + messageID.utf8.count) { span in
            span.put(.index, isSpare)
            span.put(decimal: Int(index))
            if kind == .token {
                span.put(.token, isSpare)
            } else {
                span.put(literal: ",\"")
                span.put(kind.rawValue)
                span.put(literal: "\":\"")
            }
            span.put(recipient)
            span.put(.sent, isSpare)
            span.put(messageID)
            span.put(.attempts, isSpare)
            span.put(decimal: attempts)
            if maybeDup { span.put(literal: ",\"maybe_dup\":true") }
            span.append(UInt8(ascii: "}"))
        }
    }

    private func appendAny(to bytes: inout [UInt8]) {
        bytes.append(literal: "{\"i\":")
        bytes.append(contentsOf: String(index).utf8)
        bytes.append(member: kind.rawValue, recipient)
        bytes.append(literal: ",\"status\":\"")
        bytes.append(contentsOf: status.rawValue.utf8)
        bytes.append(UInt8(ascii: "\""))
        if case .group(let name) = operation { bytes.append(member: "group_name", name) }
        if status == .sent { bytes.append(member: "message_id", messageID) }
        bytes.append(literal: ",\"attempts\":")
        bytes.append(contentsOf: String(attempts).utf8)
        if maybeDup { bytes.append(literal: ",\"maybe_dup\":true") }
        if status == .sent, let canonical { bytes.append(member: "canonical", canonical) }
        if status == .failed, let failure {
            bytes.append(member: "error", failure.error.rawValue)
            bytes.append(member: "raw_error", failure.rawError)
            bytes.append(literal: ",\"http_status\":")
            bytes.append(contentsOf: String(failure.httpStatus).utf8)
        }
        if status == .failed || action != .none { bytes.append(member: "action", action.rawValue) }
        if let failedTokens { bytes.append(list: "failed_tokens", failedTokens) }
        if case .topics(let names) = operation { bytes.append(list: "topics", names) }
        bytes.append(UInt8(ascii: "}"))
    }
}

/// What an operation's result says besides its status.
enum OperationDetail: Equatable, Sendable {
    /// The name of the group that the operation was for.
    case group(name: String)
    /// The topics of the token.
    case topics([String])
}

extension OutputSpan<UInt8> {
    /// Appends the phrase's text, or its byte.
    @inline(__always) fileprivate mutating func put(_ phrase: ResultPhrase, _ isSpare: Bool) {
        if isSpare { append(phrase.rawValue) } else { put(literal: phrase.text) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(member name: String, _ text: String) {
        append(literal: ",\"")
        append(contentsOf: name.utf8)
        append(literal: "\":")
        appendJSONString(text)
    }

    fileprivate mutating func append(list name: String, _ texts: [String]) {
        append(literal: ",\"")
        append(contentsOf: name.utf8)
        append(literal: "\":[")
        for (position, text) in texts.enumerated() {
            if position > 0 { append(UInt8(ascii: ",")) }
            appendJSONString(text)
        }
        append(UInt8(ascii: "]"))
    }
}
