/// Where the admin server listens.
public enum AdminAddress: Equatable, Sendable, CustomStringConvertible {
    /// - Parameter host: a name or an address; an IPv6 one without brackets. Port 0 takes a free one.
    case tcp(host: String, port: Int)
    case unix(path: String)

    public var description: String {
        switch self {
        case .tcp(let host, let port): return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): return "unix://\(path)"
        }
    }

    /// Reached from this machine only.
    public var isLocal: Bool {
        switch self {
        case .unix: return true
        case .tcp(let host, _): return Self.isLoopback(host)
        }
    }

    /// By name or by address, with or without an IPv6 address's brackets; `127.0.0.1.example.org` is neither.
    static func isLoopback(_ host: some StringProtocol) -> Bool {
        let host = host.lowercased()
        if ["localhost", "localhost.", "::1", "[::1]"].contains(host) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { (1...3).contains($0.count) && UInt8($0) != nil }
    }
}
