/// How a gateway listens, and its bounds. The configuration has checked them.
public struct GatewayOptions: Sendable {
    public enum Address: Equatable, Sendable {
        case tcp(host: String, port: Int)
        case unix(path: String)
    }

    /// A certificate and its key, in PEM.
    public struct Identity: Equatable, Sendable {
        public var certificate: String
        public var key: String

        public init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
    }

    public var address = Address.tcp(host: "127.0.0.1", port: 8470)
    /// nil for plain HTTP.
    public var identity: Identity?
    public var isBehindProxy = false
    /// How long a send waits for its result, milliseconds, 0 to 60,000.
    public var waitMs: Int64 = 4_000
    public var maximumConnections = 10_000
    /// How long workers remember the id of a job, milliseconds.
    public var dedupeMs: Int64 = 86_400_000
    /// Of every Redis key, without the colon.
    public var prefix = "fanfare"

    public init() {}
}
