/// What an access token's scopes allow.
struct TokenScopes: Equatable, Sendable {
    private static let prefix = "https://www.googleapis.com/auth/"

    /// The rights of `cloud-platform`.
    static let all = TokenScopes(maySend: true, mayImpersonate: true)

    var maySend: Bool
    var mayImpersonate: Bool

    private init(maySend: Bool, mayImpersonate: Bool) {
        (self.maySend, self.mayImpersonate) = (maySend, mayImpersonate)
    }

    /// nil unless there is a scope, and every one is Google's.
    init?(_ scopes: [some StringProtocol]) {
        guard !scopes.isEmpty, scopes.allSatisfy({ $0.hasPrefix(Self.prefix) }) else { return nil }
        let names = Set(scopes.map { String($0.dropFirst(Self.prefix.count)) })
        maySend = !names.isDisjoint(with: ["firebase.messaging", "cloud-platform"])
        mayImpersonate = !names.isDisjoint(with: ["iam", "cloud-platform"])
    }
}

/// The issued access tokens and when they expire.
struct AccessTokens: Equatable, Sendable {
    struct Grant: Equatable, Sendable {
        /// The project that the token's identity belongs to; nil for the machine's own account, which has every
        /// project's role.
        var project: String?
        var scopes: TokenScopes
        var expiresMs: Int64

        func belongs(to id: String) -> Bool { project == nil || project == id }
    }

    /// The state of the bearer token in an `Authorization` header.
    enum Validity: Equatable, Sendable { case missing, unknown, expired, valid(Grant) }

    static let most = 10_000
    /// For so long an expired token is reported as expired; later it is unknown.
    private static let memoryMs: Int64 = 3_600_000

    private var grants: [ExactText: Grant] = [:]

    mutating func issue(_ token: String, _ grant: Grant, nowMs: Int64) {
        if grants.count >= Self.most {
            grants = grants.filter { $0.value.expiresMs + Self.memoryMs > nowMs }
        }
        if grants.count >= Self.most, let oldest = grants.min(by: { $0.value.expiresMs < $1.value.expiresMs }) {
            grants[oldest.key] = nil
        }
        grants[token] = grant
    }

    func validity(authorization: String?, nowMs: Int64) -> Validity {
        guard let authorization, !authorization.isEmpty else { return .missing }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer", let grant = grants[String(parts[1])] else {
            return .unknown
        }
        return grant.expiresMs <= nowMs ? .expired : .valid(grant)
    }
}
