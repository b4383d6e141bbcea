internal import EventLoop
internal import FanfareCore
internal import FanfareJSON
internal import FanfareModel
internal import FoundationEssentials

/// What a worker reports of itself and a project with each renewal.
struct WorkerReport: Equatable, Sendable {
    /// Sends in flight.
    var inFlight = 0
    /// A service that this worker cannot reach, though its sends need it.
    var unreachable: Reachability.Condition?
    /// Whether FCM answered this worker lately.
    var isAnswering = false
    /// Whether Redis refused a write lately, for lack of memory.
    var isRedisFull = false
}

/// The description of a worker that each renewal writes, for `fanfare top` and the dashboard.
struct WorkerRegistration: Sendable {
    private let host = ProcessInfo.processInfo.hostName
    private let pid = ProcessInfo.processInfo.processIdentifier
    private let startedMs = Self.processStartedMs
    private let leaseMs: Int64

    private static let processStartedMs = SystemClock.nowMs

    init(_ configuration: WorkerConfiguration) { leaseMs = configuration.leaseMs }

    /// - Parameter leaseMs: the length of the lease; nil for that of the configuration.
    func text(_ report: WorkerReport, leaseMs: Int64? = nil) -> String {
        var object: JSONObject = [
            "version": .string(FanfareVersion.current),
            "host": .string(host),
            "pid": .number(JSONNumber(Int64(pid))),
            "started_ms": .number(JSONNumber(startedMs)),
            "lease_ms": .number(JSONNumber(leaseMs ?? self.leaseMs)),
            "in_flight": .number(JSONNumber(Int64(report.inFlight))),
        ]
        if report.isAnswering { object["answered"] = .bool(true) }
        if report.isRedisFull { object["redis_full"] = .bool(true) }
        if let unreachable = report.unreachable {
            object["outage"] = .object([
                "service": .string(unreachable.name), "cause": .string(unreachable.cause),
                "since": .string(CalendarTime(unixMs: unreachable.sinceMs).rfc3339),
                "since_ms": .number(JSONNumber(unreachable.sinceMs)),
            ])
        }
        return JSONValue.object(object).jsonText
    }
}
