internal import FanfareJSON
internal import FanfareModel
internal import Glibc

/// The description of a worker that each renewal writes, for `fanfare top` and the dashboard.
struct WorkerRegistration {
    private let host: String
    private let pid = getpid()
    private let startedMs = SystemClock.nowMs
    private let leaseMs: Int64

    init(_ configuration: WorkerConfiguration) {
        leaseMs = configuration.leaseMs
        var name = [CChar](repeating: 0, count: 256)
        host =
            gethostname(&name, name.count - 1) == 0
            ? String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : ""
    }

    /// - Parameter inFlight: this worker's sends in flight in the project.
    func text(inFlight: Int) -> String {
        let object: JSONObject = [
            "version": .string(FanfareVersion.current),
            "host": .string(host),
            "pid": .number(JSONNumber(Int64(pid))),
            "started_ms": .number(JSONNumber(startedMs)),
            "lease_ms": .number(JSONNumber(leaseMs)),
            "in_flight": .number(JSONNumber(Int64(inFlight))),
        ]
        return JSONValue.object(object).jsonText
    }
}
