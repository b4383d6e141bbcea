/// Where a stream of bytes under TLS goes. There is no way to switch certificate checks off.
public struct TLSStreamConfiguration: Equatable, Sendable {
    /// A host name or an address, as the certificate names it.
    public var host: String
    public var port: Int
    /// A PEM file of further authorities, trusted beside the system's.
    public var caFile: String?
    /// For name look-up, TCP and TLS together.
    public var connectTimeoutMs: Int64 = 10_000
    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged.
    public var userTimeoutMs: Int32 = 20_000
    /// Bytes that may wait to be written; more ends the stream.
    public var maxBufferedBytes = 4 << 20

    public init(host: String, port: Int, caFile: String? = nil) {
        self.host = host
        self.port = port
        self.caFile = caFile
    }

    /// True for an address in numbers, and for what may be a name.
    var hasHost: Bool {
        if SocketAddress.numeric(host, port: 0) != nil { return true }
        return (1...253).contains(host.utf8.count)
            && host.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: "-._".utf8.contains(byte)
                }
            }
    }
}
