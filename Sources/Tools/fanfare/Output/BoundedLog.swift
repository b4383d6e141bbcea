internal import EventLoop
internal import FanfareModel
internal import Logging

/// Passes records on to another handler: of warnings and errors with the same message at most one in each interval, with the
/// number of records left out since the last one. Clients can cause a warning with each request.
struct BoundedLog: LogHandler {
    private struct Burst {
        var throttle: LogThrottle
        var omitted = 0
    }

    private static let intervalSeconds: UInt64 = 10

    private var output: any LogHandler
    private let nowNs: @Sendable () -> UInt64
    private let bursts = Locked<[String: Burst]>([:])

    /// - Parameter nowNs: a clock that is never set.
    init(_ output: any LogHandler, nowNs: @escaping @Sendable () -> UInt64 = { SystemClock.bootNs }) {
        (self.output, self.nowNs) = (output, nowNs)
    }

    var logLevel: Logger.Level {
        get { output.logLevel }
        set { output.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { output.metadata }
        set { output.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { output[metadataKey: key] }
        set { output[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        guard event.level >= .warning else { return output.log(event: event) }
        // Messages are constants, so there are few.
        let name = "\(event.message)"
        let omitted: Int? = bursts.withLock { bursts in
            var burst = bursts[name] ?? Burst(throttle: LogThrottle(seconds: Self.intervalSeconds))
            let isAdmitted = burst.throttle.admits(now: nowNs())
            let omitted = burst.omitted
            burst.omitted = isAdmitted ? 0 : omitted + 1
            bursts[name] = burst
            return isAdmitted ? omitted : nil
        }
        guard let omitted else { return }
        var event = event
        if omitted > 0 { event.metadata = (event.metadata ?? [:]).merging(["omitted": "\(omitted)"]) { $1 } }
        output.log(event: event)
    }
}
