internal import FanfareModel

/// The URL of a proxy: `http://[user[:password]@]host:port`, with a slash at its end or without. User and password are
/// percent-encoded.
struct ProxyURL {
    /// `http://host:port`.
    let address: String
    /// nil if the URL names none.
    let user: String?
    let password: String?

    /// Why a text is no such URL. It repeats no part of the text, which may hold a password.
    struct FormatError: Error { let reason: String }

    private static let form = "must be http://host:port, with user:password@ before the host if the proxy asks for them"

    init(_ text: String) throws(FormatError) {
        let scheme = "http://"
        guard text.lowercased().hasPrefix(scheme) else {
            let advice = text.contains("://") ? "no other scheme is supported" : "write http:// before it"
            throw FormatError(reason: "\(Self.form); \(advice)")
        }
        var rest = text.dropFirst(scheme.count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        let at = rest.lastIndex(of: "@")
        let authority = at.map { rest[rest.index(after: $0)...] } ?? rest
        let userInfo = at.map { rest[..<$0] } ?? ""
        // Without a rule of ours, where such a password ends would be a guess.
        let isAmbiguous = userInfo.contains { "/?#@".contains($0) }
        guard !isAmbiguous, HostPolicy.host(authority: String(authority)) != nil else {
            let advice = "in user and password percent-encode / as %2F, ? as %3F, # as %23, @ as %40 and % as %25"
            throw FormatError(reason: at == nil ? Self.form : "\(Self.form); \(advice)")
        }
        address = scheme + authority
        let parts = at.map { rest[..<$0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) } ?? []
        user = try parts.first.map(Self.decoded)
        password = parts.count == 2 ? try Self.decoded(parts[1]) : nil
        if let user { try Self.checkUser(user) }
    }

    /// Refuses a user that HTTP's basic authentication cannot carry (RFC 7617).
    private static func checkUser(_ user: String) throws(FormatError) {
        if user.isEmpty { throw FormatError(reason: "names a password without a user") }
        if user.contains(":") { throw FormatError(reason: "names a user with a colon, which no proxy can read") }
    }

    private static func decoded(_ text: Substring) throws(FormatError) -> String {
        guard let bytes = PercentDecoding.bytes(of: text.utf8), let decoded = String(validating: bytes, as: UTF8.self)
        else { throw FormatError(reason: "has a user or password with a % that is not percent-encoded as %25") }
        guard !decoded.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw FormatError(reason: "has a user or password with a control character")
        }
        return decoded
    }
}
