internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel
internal import FoundationEssentials
internal import Glibc

/// How fast the demo's job was sent, and by what.
struct DemoSpeed: Equatable {
    /// Recipients of the job over the time of its first pass.
    var perSecond: Double
    /// Recipients of the job over the CPU time of the worker; nil if that cannot be read.
    var perCPUSecond: Double?
    var engine: HTTPEngine

    #if DEBUG
        static let build = "debug"
    #else
        static let build = "release"
    #endif

    /// Nil if the job had no first pass.
    init?(_ status: JobStatus, cpuSeconds: Double?, engine: HTTPEngine) {
        guard let start = status.startedMs, let pass = status.firstPassMs else { return nil }
        perSecond = Double(status.total) * 1_000 / Double(max(1, pass - start))
        perCPUSecond = cpuSeconds.map { Double(status.total) / max(0.01, $0) }
        self.engine = engine
    }

    /// - Parameter build: `debug` or `release`.
    func text(build: String = Self.build) -> String {
        let cpu = perCPUSecond.map { ", \(Self.rounded($0)) per CPU-second of the worker" } ?? ""
        let advice = build == "debug" ? ": a release build is several times as fast" : ""
        return
            "\(Self.rounded(perSecond)) recipients a second\(cpu) (engine \(engine.rawValue), \(build) build\(advice))."
    }

    var json: JSONObject {
        var object: JSONObject = [
            "recipients_per_second": .number(JSONNumber(Self.rounded(perSecond))), "engine": .string(engine.rawValue),
            "build": .string(Self.build),
        ]
        object["recipients_per_cpu_second"] = perCPUSecond.map { .number(JSONNumber(Self.rounded($0))) }
        return object
    }

    /// Two digits are as many as a run of some seconds repeats.
    private static func rounded(_ value: Double) -> Int64 {
        let whole = Int64(max(0, min(value, 1e12)).rounded())
        var unit: Int64 = 1
        while whole / unit >= 100 { unit *= 10 }
        return (whole + unit / 2) / unit * unit
    }

    /// CPU time that the worker's threads in this process have used, in seconds; nil if there are none. The
    /// simulator, the dashboard and this command run on other threads.
    static func workerCPUSeconds() -> Double? {
        let tasks = "/proc/self/task"
        guard let ids = try? FileManager.default.contentsOfDirectory(atPath: tasks) else { return nil }
        let ticks = ids.compactMap { id in
            (try? String(contentsOfFile: "\(tasks)/\(id)/stat", encoding: .utf8)).flatMap(workerTicks)
        }
        return ticks.isEmpty ? nil : Double(ticks.reduce(0, +)) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// User and system time of a line of `stat`, if it is of a thread of the worker.
    static func workerTicks(_ line: String) -> Int64? {
        guard let open = line.firstIndex(of: "("), let close = line.lastIndex(of: ")"), open < close,
            ["fanfare-loop", "fanfare-lease"].contains(line[line.index(after: open)..<close])
        else { return nil }
        // The fields after the name: state is the third of all, utime and stime are the 14th and 15th.
        let fields = line[line.index(after: close)...].split(separator: " ")
        guard fields.count > 12, let user = Int64(fields[11]), let system = Int64(fields[12]) else { return nil }
        return user + system
    }
}
