internal import FanfareModel

/// Where the dashboard listens, and who may do what.
public struct DashboardOptions: Equatable, Sendable {
    /// A name or an address; an IPv6 one without brackets.
    public var host: String
    /// 0: a free one.
    public var port: Int
    /// Nothing can be changed: decided by the server, whatever a page asks for.
    public var isReadOnly: Bool
    /// What a person has to know; nil asks for nothing.
    public var token: String?
    /// Names that a proxy puts into `Host` besides those of this machine.
    public var allowedHosts: [String]
    /// What every Redis key starts with.
    public var prefix: String
    /// Projects that are shown even if nobody has seen them yet.
    public var projects: [String]

    public init(
        host: String = "127.0.0.1",
        port: Int = 8_490,
        isReadOnly: Bool = false,
        token: String? = nil,
        allowedHosts: [String] = [],
        prefix: String = "fanfare",
        projects: [String] = []
    ) {
        self.host = host
        self.port = port
        self.isReadOnly = isReadOnly
        self.token = token
        self.allowedHosts = allowedHosts
        self.prefix = prefix
        self.projects = projects
    }

    /// The shortest token that is taken: what can be guessed protects nobody.
    public static let leastTokenBytes = 16

    /// Reached from this machine only.
    public var isLoopback: Bool { Loopback.names(host) }

    /// Why it may not start like this; nil when it may.
    public var refusal: String? {
        if let token {
            guard token.utf8.count >= Self.leastTokenBytes else {
                return "the token has fewer than \(Self.leastTokenBytes) characters"
            }
            guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                return "the token may only hold visible ASCII characters"
            }
            return nil
        }
        if !isLoopback { return "\(host) is not an address of this machine alone, so a token is needed" }
        if !allowedHosts.isEmpty { return "who comes through a proxy is not known, so a token is needed" }
        return nil
    }
}
