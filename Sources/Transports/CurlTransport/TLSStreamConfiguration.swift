/// Where a stream of bytes under TLS goes. There is no way to switch certificate checks off.
public struct TLSStreamConfiguration: Equatable, Sendable {
    /// A host name or an address, as the certificate names it.
    public var host: String
    public var port: Int
    /// A PEM file of further authorities, trusted beside the system's.
    public var caFile: String?
    /// For name look-up, TCP and TLS together.
    public var connectTimeoutMs: Int64 = 10_000
    /// How long sent bytes may stay unacknowledged before the kernel gives the connection up.
    public var userTimeoutMs: UInt32 = 20_000
    /// Bytes that may wait to be written; more ends the stream.
    public var maxBufferedBytes = 4 << 20

    public init(host: String, port: Int, caFile: String? = nil) {
        self.host = host
        self.port = port
        self.caFile = caFile
    }

    /// Nil when the host is none, or would change the address it is put into.
    var url: String? {
        guard (1...65_535).contains(port), (1...255).contains(host.utf8.count) else { return nil }
        let isAddress6 = host.utf8.contains(UInt8(ascii: ":"))
        for byte in host.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: ":"): continue
            case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): continue
            case UInt8(ascii: "g")...UInt8(ascii: "z"), UInt8(ascii: "G")...UInt8(ascii: "Z"), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                if isAddress6 { return nil }
            default: return nil
            }
        }
        return isAddress6 ? "https://[\(host)]:\(port)/" : "https://\(host):\(port)/"
    }
}
