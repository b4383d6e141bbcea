internal import Foundation

/// One figure of a run.
struct Measure: Sendable {
    let name: String
    let heading: String
    let decimals: Int
    let value: @Sendable (RunSample) -> Double?

    static let cpu = Measure(name: "cpu_us_per_send", heading: "CPU/send µs", decimals: 2) { $0.cpuMicrosecondsPerSend }
    static let rate = Measure(name: "sends_per_second", heading: "sends/s", decimals: 0) { $0.sendsPerSecond }
    static let wall = Measure(name: "wall_seconds", heading: "wall s", decimals: 2) { $0.wallSeconds }
    static let sink = Measure(name: "sink_cpu_us_per_send", heading: "sink µs", decimals: 2) { run in
        run.sinkCPUSeconds.map { $0 * 1e6 / Double(run.sends) }
    }
    static let redis = Measure(name: "redis_cpu_us_per_send", heading: "Redis µs", decimals: 2) { run in
        run.redisCPUSeconds.map { $0 * 1e6 / Double(run.sends) }
    }
    static let startUp = Measure(name: "start_up_cpu_ms", heading: "start ms", decimals: 1) { run in
        run.startUpCPUSeconds.map { $0 * 1e3 }
    }
    static let memory = Measure(name: "peak_memory_mb", heading: "peak MB", decimals: 1) { $0.peakMemoryMegabytes }

    static let common = [cpu, rate, wall, sink, redis, startUp, memory]

    /// `p99 ms 4.00`; nil where it was not measured.
    func text(_ sample: RunSample) -> String? {
        value(sample).map { "\(heading) \(String(format: "%.\(decimals)f", $0))" }
    }

    /// One of a scenario's own.
    static func figure(_ name: String, _ heading: String, decimals: Int) -> Measure {
        Measure(name: name, heading: heading, decimals: decimals) { $0.figures[name] }
    }
}
