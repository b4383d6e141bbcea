public import FanfareModel

/// How one origin is reached. There is no way to switch certificate checks off.
public struct OriginConfiguration: Equatable, Sendable {
    /// A PEM file of further authorities, trusted beside the system's.
    public var caFile: String?
    /// The proxy for requests over TLS. The environment's proxy variables are ignored, set or not.
    public var proxy: HTTPProxy?
    /// Whether URLs may be plain HTTP. Only for a metadata server, for subject tokens and for telemetry, without a proxy.
    public var allowsPlainHTTP = false
    /// Streams that a lane carries at most, 1 to 1,000; the lane adapts to a lower limit of the server.
    public var maximumStreamsPerLane = 100
    /// Connections at most, at least 1.
    public var maximumLanes = 32
    /// For name look-up, TCP and TLS together.
    public var connectTimeoutMs: Int64 = 5_000
    /// An answer's body beyond this is cut off and counts as incomplete, unless its request names another limit. Over
    /// HTTP/2 a server may also send so much before the client confirms any, if the engine can set that.
    public var maximumBodyBytes = 65_536
    /// How long sent bytes may stay unacknowledged before the kernel gives the connection up.
    public var userTimeoutMs: UInt32 = 10_000
    /// An idle connection older than this is not used again; a busy lane of this age is replaced.
    public var maximumConnectionAgeMs: Int64 = 300_000
    /// Number of timeouts without an answer between them that retires a lane.
    public var timeoutsToRetire = 3
    /// How long a ready lane may hold a request back before the pool infers a stream limit of the server.
    public var stallMs: Int64 = 250

    public init(caFile: String? = nil, proxy: HTTPProxy? = nil) {
        self.caFile = caFile
        self.proxy = proxy
    }
}
