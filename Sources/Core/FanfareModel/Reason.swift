/// Why a request has no answer. Code decides by ``kind``; results, logs and `fanfare doctor` print ``description``.
public struct Reason: Hashable, Sendable {
    /// What failed, as a number of libcurl, OpenSSL or the system shows it.
    public enum Kind: Sendable {
        /// Only the words say it.
        case other
        /// The origin did not answer before, and no cause is known.
        case unreachable
        /// The host has no address, or the name service did not answer.
        case name
        /// The connection was not made, or it ended.
        case connection
        case timeout
        /// TLS failed, and not because of the peer's certificate.
        case tls
        /// The peer's certificate was refused: it has another name, has expired, or is broken.
        case certificate
        /// The peer's certificate was refused: no trusted authority issued it.
        case authority
        /// The proxy answered CONNECT with 407: it asks for a user, or refuses the one it got.
        case proxyLogin
        /// The process may not open more files.
        case files

        /// What an operator can set to end a failure of this kind; nil where the kind alone does not show it.
        public var remedy: String? {
            switch self {
            case .authority: "a private authority is named by tls.ca_file"
            case .proxyLogin:
                "the proxy asks for a user and a password: set proxy_user and proxy_password_file, or correct them"
            case .other, .unreachable, .name, .connection, .timeout, .tls, .certificate, .files: nil
            }
        }
    }

    private struct Parts: Hashable {
        var kind: Kind
        /// The library and its number, such as `libcurl 7`; empty without one.
        var code = ""
        var text: String
        var hint = ""
        /// What ended the request when it had come back for this reason; empty if this reason ended it.
        var end = ""
    }

    /// Every outcome has room for a reason, and few have one: so a reason takes the room of a pointer.
    private indirect enum Storage: Hashable { case parts(Parts) }

    private var storage: Storage
    private var parts: Parts {
        get {
            switch storage {
            case .parts(let parts): parts
            }
        }
        set { storage = .parts(newValue) }
    }

    public var kind: Kind { parts.kind }

    /// - Parameters:
    ///   - code: the library and its number, such as `libcurl 7`.
    ///   - text: what happened; empty if the library says nothing.
    ///   - hint: the remedy.
    public init(_ kind: Kind, code: String = "", _ text: String, hint: String = "") {
        storage = .parts(Parts(kind: kind, code: code, text: text, hint: hint))
    }

    public init(_ text: String) { self.init(.other, text) }

    /// This reason of another kind, with a further remedy.
    public func adding(hint more: String, as kind: Kind) -> Reason {
        var reason = self
        reason.parts.kind = kind
        reason.parts.hint += parts.hint.isEmpty ? more : "; \(more)"
        return reason
    }

    /// This reason with the remedy of its kind, if there is one.
    public var withRemedy: Reason { kind.remedy.map { adding(hint: $0, as: kind) } ?? self }

    /// This reason after some words, such as `FCM cannot be reached`.
    public func after(_ words: String) -> Reason { Reason(kind, "\(words): \(self)") }

    /// This reason as the cause of `end`, for which the request then ended.
    public func before(_ end: Reason) -> Reason {
        var reason = self
        reason.parts.end = end.description
        return reason
    }

    /// The cause in the words of an operator: `Failed to connect (libcurl 7); hint`. It has no durations, so that equal
    /// causes read alike. nil if no cause is known.
    public var cause: String? {
        let (code, text, hint) = (parts.code, parts.text, parts.hint)
        if kind == .unreachable || (text.isEmpty && code.isEmpty) { return nil }
        let words = code.isEmpty ? text : text.replacing(#/ after \d+ (ms|milliseconds)/#, with: "")
        let cause = code.isEmpty || text.isEmpty ? words + code : "\(words) (\(code))"
        return hint.isEmpty ? cause : "\(cause); \(hint)"
    }
}

extension Reason: CustomStringConvertible {
    /// `libcurl 7: Failed to connect; hint`, or `no free stream in time; before: libcurl 7: Failed to connect; hint`.
    public var description: String {
        let (code, text, hint, end) = (parts.code, parts.text, parts.hint, parts.end)
        let head = code.isEmpty || text.isEmpty ? code + text : "\(code): \(text)"
        let own = hint.isEmpty ? head : "\(head); \(hint)"
        return end.isEmpty ? own : "\(end); before: \(own)"
    }
}

extension Reason: ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) { self.init(text) }
}
