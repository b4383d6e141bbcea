public import FanfareModel

/// An address to listen on.
public enum ListenAddress: Equatable, Sendable, CustomStringConvertible {
    /// A host name or address, IPv6 without brackets. Port 0 takes a free port.
    case tcp(host: String, port: Int)
    case unix(path: String)

    /// Reads `host:port`, `unix:///path` or `unix:/path`; nil for any other text.
    public init?(_ text: String) {
        if text.hasPrefix("unix:/") {
            let path = text.dropFirst(text.hasPrefix("unix://") ? 7 : 5)
            // The limit of sockaddr_un.sun_path.
            guard path.hasPrefix("/"), path.utf8.count > 1, path.utf8.count < 108 else { return nil }
            self = .unix(path: String(path))
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = DecimalText.parse(text[text.index(after: colon)...].utf8),
            (0...65_535).contains(port), let host = HostPolicy.host(authority: String(text[..<colon]))
        else { return nil }
        self = .tcp(host: host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host, port: Int(port))
    }

    /// Whether only this machine can reach it.
    public var isLocal: Bool {
        switch self {
        case .unix: return true
        case .tcp(let host, _): return Loopback.names(host)
        }
    }

    public var description: String {
        switch self {
        case .tcp(let host, let port): return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): return "unix://\(path)"
        }
    }
}

/// A secret. Printing and dumping show `[secret]`.
public struct SecretText: Equatable, Sendable, Redacted {
    public let value: String

    public init(_ value: String) { self.value = value }

    public var description: String { "[secret]" }
}
