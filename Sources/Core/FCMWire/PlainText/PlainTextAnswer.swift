internal import FanfareModel

/// The body of a 200 to a plain-text request: lines of `name=value`.
enum PlainTextAnswer: Equatable, Sendable {
    /// The id is empty if it cannot be kept as text; the canonical id is spelled like a token.
    case accepted(messageID: String, canonical: String?)
    /// `isWhole` is false when the code may have been cut short.
    case rejected(code: String, isWhole: Bool)
    /// FCM's answer, cut before the end of its first line: the outcome is not known.
    case lost
    /// Not from FCM, but from a portal or a proxy.
    case foreign

    init(_ answer: HTTPAnswer) {
        if answer.contentType != nil {
            guard AnswerBody.isText(answer) else {
                self = .foreign
                return
            }
        } else if answer.body.isEmpty, answer.isComplete {
            self = .foreign
            return
        }
        var lines = Self.lines(answer.body)
        // Without its end, the last line may lack its own.
        let cut = answer.isComplete ? nil : lines.popLast()
        self = Self.read(lines, cut: cut)
    }

    private static func read(_ lines: [ArraySlice<UInt8>], cut: ArraySlice<UInt8>?) -> PlainTextAnswer {
        var messageID: String?
        var canonical: String?
        var code: String?
        for line in lines {
            if let value = value("id", line) {
                messageID = messageID ?? printable(value)
            } else if let value = value("registration_id", line) {
                let token = String(decoding: value, as: UTF8.self)
                canonical = TokenText.isToken(token) ? token : nil
            } else if let value = value("Error", line) {
                code = code ?? String(decoding: value, as: UTF8.self)
            }
        }
        switch (messageID, code) {
        case (let messageID?, nil): return .accepted(messageID: messageID, canonical: canonical)
        case (nil, let code?) where !code.isEmpty: return .rejected(code: code, isWhole: true)
        case (nil, nil): break
        default: return .foreign
        }
        guard let cut else {
            return lines.allSatisfy(\.isEmpty) ? .lost : .foreign
        }
        if let value = value("Error", cut) {
            return .rejected(code: String(decoding: value, as: UTF8.self), isWhole: false)
        }
        if value("id", cut) != nil { return .lost }
        return lines.isEmpty && ["id=", "Error="].contains(where: { $0.utf8.starts(with: cut) }) ? .lost : .foreign
    }

    private static func lines(_ body: [UInt8]) -> [ArraySlice<UInt8>] {
        // FCM's answers have a few short lines; the bound is for hostile ones.
        body.prefix(8_192).split(separator: UInt8(ascii: "\n"), maxSplits: 8, omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
    }

    private static func value(_ name: String, _ line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let prefix = name + "="
        return line.starts(with: prefix.utf8) ? line.dropFirst(prefix.utf8.count) : nil
    }

    /// The value as an id; empty unless it is printable and short, because a cleaned id would match nothing.
    private static func printable(_ value: ArraySlice<UInt8>) -> String {
        guard value.count <= 256, value.allSatisfy({ (0x21...0x7E).contains($0) }) else { return "" }
        return String(decoding: value, as: UTF8.self)
    }
}
