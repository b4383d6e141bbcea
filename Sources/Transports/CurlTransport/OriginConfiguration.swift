/// How one origin is reached. There is no way to switch certificate checks off.
public struct OriginConfiguration: Equatable, Sendable {
    /// A PEM file of further authorities, trusted beside the system's.
    public var caFile: String?
    /// A proxy URL. The environment's proxy variables are ignored, set or not.
    public var proxy: String?
    /// Streams that a lane carries at most, 1 to 1,000; a lower limit of the server is found out.
    public var maxStreamsPerLane = 100
    /// Connections at most, at least 1.
    public var maxLanes = 32
    /// For name look-up, TCP and TLS together.
    public var connectTimeoutMs: Int64 = 5_000
    /// An answer's body beyond this is cut off and counts as incomplete.
    public var maxBodyBytes = 1 << 20
    /// How long sent bytes may stay unacknowledged before the kernel gives the connection up.
    public var userTimeoutMs: UInt32 = 10_000
    /// An idle connection older than this is not used again; a busy lane of this age is replaced.
    public var maxConnectionAgeMs: Int64 = 300_000
    /// So many timeouts in a row, with no answer between them, retire a lane.
    public var timeoutsToRetire = 3
    /// How long a ready lane may leave a body unasked before that is read as the server's stream limit.
    public var stallMs: Int64 = 250
    /// Gathers a turn's writes of a lane into full segments. Off only for measurements.
    public var corksWrites = true

    public init(caFile: String? = nil, proxy: String? = nil) {
        self.caFile = caFile
        self.proxy = proxy
    }
}
