internal import FanfareModel

/// The address of the dashboard, and who may use it.
public struct DashboardOptions: Equatable, Sendable {
    /// A host name or address; an IPv6 address without brackets.
    public var host = "127.0.0.1"
    /// 0 takes a free port.
    public var port = 8_490
    /// Whether the server refuses all actions.
    public var isReadOnly = false
    /// The access token; nil if none is required.
    public var token: String?
    /// A token that opens the metrics alone; nil if only ``token`` does.
    public var metricsToken: String?
    /// Host names that a proxy may put into `Host`, besides this machine's.
    public var allowedHosts: [String] = []
    /// The header in which a proxy of ``allowedHosts`` names the user; nil if none does.
    public var userHeader: String?
    /// The prefix of every Redis key.
    public var prefix = "fanfare"
    /// Projects that are shown even if they are not registered in Redis.
    public var projects: [String] = []

    public init() {}

    /// Minimum length of the token, so that it cannot be guessed.
    private static let leastTokenBytes = 16

    /// Whether only this machine can reach the address.
    public var isLoopback: Bool { Loopback.names(host) }

    /// Why the dashboard must not start with these options; nil if it may.
    public var fault: String? {
        if userHeader != nil, allowedHosts.isEmpty {
            return "only a proxy (--allow-host) can name the user in a header"
        }
        if let fault = token.flatMap(Self.fault(ofToken:)) { return "the token \(fault)" }
        if let fault = metricsToken.flatMap(Self.fault(ofToken:)) { return "the token of the metrics \(fault)" }
        if token != nil { return nil }
        if !isLoopback { return "\(host) is not an address of this machine alone, so a token is needed" }
        if !allowedHosts.isEmpty { return "users behind a proxy cannot be distinguished, so a token is needed" }
        return nil
    }

    private static func fault(ofToken token: String) -> String? {
        guard token.utf8.count >= leastTokenBytes else { return "has fewer than \(leastTokenBytes) characters" }
        return token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) ? nil : "may only hold visible ASCII characters"
    }
}
