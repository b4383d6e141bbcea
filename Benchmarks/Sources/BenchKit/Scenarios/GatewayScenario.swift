internal import Foundation

/// The gateway before one worker: what a message over HTTP costs beside one over Redis.
enum GatewayScenario: Scenario {
    static let name = "gateway"
    static let summary = "messages over HTTP: CPU of the gateway and of Redis a message, and the time that it adds"
    static let tools = Sink.tools + [.redisServer, .h2load, .wrk]

    /// Messages that one core of the gateway moves.
    static let core = Measure.figure("sends_per_core_second", "sends/core s", decimals: 0)
    static let worker = Measure.figure("worker_cpu_us_per_send", "worker µs", decimals: 2)
    static let client = Measure.figure("client_cpu_us_per_send", "client µs", decimals: 2)
    /// Recipients of a job, in the mean.
    static let joined = Measure.figure("recipients_per_job", "recipients/job", decimals: 1)
    /// Requests a second that the bound for firebase-admin names.
    private static let wantedRate = 5_000

    /// A Python with firebase-admin.
    static func python() throws -> String {
        guard let path = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"] else {
            throw BenchError.unavailable(
                "FANFARE_SDK_PYTHON names no Python with firebase-admin; `ops/setup` makes one"
            )
        }
        return path
    }

    static func run(_ bench: Bench) throws -> Report {
        var bench = bench
        bench.persistence = .appendOnly
        let options = bench.options
        let startedAt = Date()
        let sink = try bench.sink()
        defer { sink.stop() }

        let sends = options.sends(10_000, 30_000)
        let rounds = options.rounds(1, 3, 10)
        let (rate, seconds) = (1_000, bench.form.pick(3, 10, 30))
        var contenders: [any Contender] = [
            GatewayContender("h2load", .h2load, bench, sink: sink),
            GatewayContender("sdk-bytes", .bytes(rate: wantedRate, seconds: seconds), bench, sink: sink),
            GatewayContender("paced", .bytes(rate: rate, seconds: seconds), bench, sink: sink),
            EngineContender(
                engine: bench.engine,
                contender: LatencyContender(bench, sink: sink, rate: rate, seconds: seconds)
            ),
        ]
        let hasSDK = (try? python()) != nil
        if hasSDK { contenders.append(GatewayContender("sdk", .sdk, bench, sink: sink)) }
        let runs = try Rounds.run(contenders, rounds: rounds, sends: sends, show: [.cpu, .redis, core])
        let report = Report(
            scenario: name,
            parameters: [
                "sends": sends, "rounds": rounds, "rate": rate, "sdk_bytes_rate": wantedRate, "seconds": seconds,
                "append_only_file": 1,
            ],
            startedAt: startedAt,
            contenders: contenders,
            runs: runs,
            measures: Measure.common
                + [core, worker, client, joined, CommandTimes.gateway, CommandTimes.worker]
                + [LatencyScenario.p50, LatencyScenario.p99, LatencyScenario.p999],
            compare: [],
            notes: hasSDK
                ? [] : ["FANFARE_SDK_PYTHON names no Python with firebase-admin: its side is left out"]
        )
        return report.with(goals: goals(report, direct: bench.engine.side("worker")))
    }

    static func goals(_ report: Report, direct: String) -> [Goal] {
        let (paced, pushed) = (
            report.median(LatencyScenario.p99, of: "paced"), report.median(LatencyScenario.p99, of: direct)
        )
        // The fewer messages share a job, the more each costs Redis: at a lower rate the figure is too high, never too low.
        let isReached = (report.median(.rate, of: "sdk-bytes") ?? 0) >= 0.85 * Double(wantedRate)
        return [
            Goal(
                "messages a second on one core of the gateway, h2load",
                .atLeast(10_000),
                decimals: 0,
                figure: report.median(core, of: "h2load")
            ),
            Goal(
                "messages a second on one core of the gateway, firebase-admin",
                .atLeast(5_000),
                decimals: 0,
                figure: report.median(core, of: "sdk")
            ),
            Goal(
                "messages a second on one core of the gateway, the bytes of firebase-admin",
                .atLeast(5_000),
                decimals: 0,
                figure: report.median(core, of: "sdk-bytes")
            ),
            Goal(
                "CPU of Redis per message, the bytes of firebase-admin at \(wantedRate) a second",
                .atMost(15),
                unit: " µs",
                decimals: 1,
                figure: isReached ? report.median(.redis, of: "sdk-bytes") : nil
            ),
            Goal(
                "p99 that the gateway adds to an XADD",
                .atMost(10),
                unit: " ms",
                decimals: 1,
                figure: paced.flatMap { paced in pushed.map { paced - $0 } }
            ),
        ]
    }
}
