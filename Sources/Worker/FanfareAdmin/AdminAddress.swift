internal import FanfareModel

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
        case .tcp(let host, _): return Loopback.names(host)
        }
    }
}
