/// The moment at which an event is handled, on the clocks that decisions use.
public struct Instant: Equatable, Sendable {
    /// Nanoseconds since boot, on a clock that is never set and counts while the machine sleeps.
    public var monotonicNs: UInt64
    /// The project's time in milliseconds, by which everything waits; see Pacing.
    public var projectMs: Int64
    /// The project's time less Redis' time of day, in milliseconds.
    public var projectClockOffsetMs: Int64
    /// How much later the project's time may be by Redis' clock, in milliseconds: Redis' answer took that long.
    public var projectClockErrorMs: Int64

    public init(
        monotonicNs: UInt64,
        projectMs: Int64,
        projectClockOffsetMs: Int64 = 0,
        projectClockErrorMs: Int64 = 0
    ) {
        self.monotonicNs = monotonicNs
        self.projectMs = projectMs
        self.projectClockOffsetMs = projectClockOffsetMs
        self.projectClockErrorMs = projectClockErrorMs
    }

    /// Redis' time of day, Unix milliseconds, by which producers and FCM name times.
    public var wallMs: Int64 { wall(projectMs) }

    /// - Parameter projectMs: in the project's time.
    public func wall(_ projectMs: Int64) -> Int64 { projectMs - projectClockOffsetMs }

    /// - Parameter wallMs: Unix milliseconds.
    public func projectTime(_ wallMs: Int64) -> Int64 { wallMs + projectClockOffsetMs }
}
