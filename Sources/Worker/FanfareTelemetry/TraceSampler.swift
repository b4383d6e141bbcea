/// Decides which traces are recorded, as OpenTelemetry's samplers of these names do.
public struct TraceSampler: Equatable, Sendable {
    /// Whether a trace that another process began is recorded exactly when that process records it: `parentbased_…`.
    public var followsParent: Bool
    /// The share of all other traces that is recorded: 1 is `always_on`, 0 `always_off`, any other `traceidratio`.
    public var ratio: Double

    public init(followsParent: Bool = true, ratio: Double = 1) {
        (self.followsParent, self.ratio) = (followsParent, ratio)
    }

    /// The same for every span of a trace, and in every process: it follows from the trace's id.
    func records(_ trace: TraceContext.TraceID, parent: TraceContext?) -> Bool {
        if followsParent, let parent { return parent.isSampled }
        return ratio >= 1 || Double(trace.low) < ratio * 0x1p64
    }
}
