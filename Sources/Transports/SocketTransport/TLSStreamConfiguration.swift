internal import FanfareModel

/// The peer of a TLS stream, and its limits. There is no way to switch certificate checks off.
public struct TLSStreamConfiguration: Equatable, Sendable {
    /// A host name or an address, as the certificate names it.
    public var host: String
    public var port: Int
    /// A PEM file of further authorities, trusted beside the system's.
    public var caFile: String?
    /// Names offered by ALPN, most wanted first; none to leave ALPN out.
    public var protocols: [String] = []
    /// For name look-up, TCP and TLS together.
    public var connectTimeoutMs: Int64 = 10_000
    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged.
    public var userTimeoutMs: Int32 = 20_000
    /// Bytes that may wait to be written; more ends the stream.
    public var maximumBufferedBytes = 4 << 20

    public init(host: String, port: Int, caFile: String? = nil) {
        self.host = host
        self.port = port
        self.caFile = caFile
    }

    /// True for a numeric address, and for text that may be a host name.
    var hasHost: Bool {
        if SocketAddress.numeric(host, port: 0) != nil { return true }
        return (1...253).contains(host.utf8.count)
            && host.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._".utf8.contains($0) }
    }
}
