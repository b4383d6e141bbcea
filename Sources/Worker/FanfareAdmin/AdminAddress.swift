internal import FanfareModel

/// The address of the admin server.
public enum AdminAddress: Equatable, Sendable, CustomStringConvertible {
    /// A host name or address, IPv6 without brackets. Port 0 takes a free port.
    case tcp(host: String, port: Int)
    case unix(path: String)

    public var description: String {
        switch self {
        case .tcp(let host, let port): return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): return "unix://\(path)"
        }
    }

    /// Whether only this machine can reach the address.
    public var isLocal: Bool {
        switch self {
        case .unix: return true
        case .tcp(let host, _): return Loopback.names(host)
        }
    }
}
