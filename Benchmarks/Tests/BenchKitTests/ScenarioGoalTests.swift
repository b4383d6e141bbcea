import Foundation
import Testing

@testable import BenchKit

/// What each scenario makes of its figures.
struct ScenarioGoalTests {
    @Test func v1AgainstAllItMeets() {
        let report = report(
            [("worker", [2]), ("floor", [1.6]), ("go", [2]), ("firebase-admin", [80]), ("h2load", [0.5])],
            compare: ["floor", "go", "firebase-admin", "h2load"].map { (.cpu, "worker", $0) }
        )
        let goals = V1Scenario.goals(report, hasLibcurl8: false)
        #expect(goals.map(\.figure) == [1.25, 1, 40, 4, nil, nil, nil])
        #expect(goals.prefix(4).map(\.verdict) == [.met, .met, .met, .missed])
        let withLibcurl8 = V1Scenario.goals(report, hasLibcurl8: true)
        #expect(withLibcurl8.prefix(4).map(\.verdict) == [.met, .missed, .met, .missed])
        #expect(withLibcurl8.dropFirst(4).allSatisfy { $0.verdict == .unmeasured })
    }

    @Test func v1OnNGHTTP2IsComparedWithCurlOnLibcurl7Only() {
        let report = report(
            [("worker", [2]), ("worker-nghttp2", [1]), ("go", [2]), ("h2load", [0.4])],
            compare: ["go", "h2load", "worker"].map { (.cpu, "worker-nghttp2", $0) }
        )
        let goals = V1Scenario.goals(report, hasLibcurl8: false).dropFirst(4)
        #expect(goals.map(\.figure) == [0.5, 2.5, 0.5])
        #expect(goals.map(\.verdict) == [.met, .missed, .met])
        #expect(V1Scenario.goals(report, hasLibcurl8: true).dropFirst(4).map(\.figure) == [0.5, 2.5])
    }

    @Test func whoIsMissingIsNotMeasured() {
        let goals = V1Scenario.goals(report([("floor", [1])]), hasLibcurl8: false)
        #expect(goals.allSatisfy { $0.verdict == .unmeasured })
    }

    @Test func inFlightIsTheRatioOfRatios() {
        let sides = [("worker-100", [1.0]), ("floor-100", [2.0]), ("worker-3000", [3.0]), ("floor-3000", [4.0])]
        let report = report(
            sides,
            compare: [(.cpu, "worker-3000", "worker-100"), (.cpu, "floor-3000", "floor-100")]
        )
        #expect(InFlightScenario.goals(report).map(\.figure) == [1.5, nil])
    }

    @Test func inFlightOnNGHTTP2IsItsOwnRatio() {
        let sides = [("worker-100-nghttp2", [2.0]), ("worker-3000-nghttp2", [3.0])]
        let report = report(sides, compare: [(.cpu, "worker-3000-nghttp2", "worker-100-nghttp2")])
        #expect(InFlightScenario.goals(report).map(\.figure) == [nil, 1.5])
    }

    @Test(arguments: [(100, 2.0, 2_000), (1_000, 2.0, 20_000), (3_000, 2.0, 30_000)])
    func inFlightSendsAsManyAsTheTimeTakes(level: Int, seconds: Double, sends: Int) {
        #expect(InFlightScenario.sends(level, seconds: seconds) == sends)
    }

    @Test func latencyIsLessTheMedianOfTheSinkAtTheSameRate() throws {
        let runs = [
            "worker": [sample(cpu: 1, figures: ["p50_ms": 2, "p99_ms": 9])],
            "sink": [sample(cpu: 1, figures: ["p50_ms": 1, "p99_ms": 3])],
            "worker-nghttp2": [sample(cpu: 1, figures: ["p50_ms": 2, "p99_ms": 4])],
            "sink-nghttp2": [sample(cpu: 1, figures: ["p50_ms": 0.5, "p99_ms": 3])],
        ]
        let goals = LatencyScenario.goals(scenario("latency", runs, [LatencyScenario.p50, LatencyScenario.p99]))
        #expect(goals.map(\.figure) == [1, 8, 1.5, 3.5])
        #expect(goals.map(\.verdict) == [.met, .met, .missed, .met])
        let unmeasured = LatencyScenario.goals(scenario("latency", [:], [LatencyScenario.p50]))
        #expect(unmeasured.allSatisfy { $0.verdict == .unmeasured })
    }

    @Test func singlesAreComparedWithBatchesAndQueuesOfTheSameRun() throws {
        func run(_ cpu: Double?, _ redis: Double, kept: Double? = nil) -> [RunSample] {
            var run = sample(cpu: 1, figures: kept.map { [SinglesContender.keptBytes.name: $0] } ?? [:])
            (run.cpuSeconds, run.redisCPUSeconds) = (cpu, redis)
            return [run]
        }
        let runs = [
            "singles-nghttp2": run(3, 4, kept: 340), "batches-nghttp2": run(1.5, 0.5), "with-id-nghttp2": run(3, 4.2),
            "mix-nghttp2": run(3.6, 4), "bare-loop": run(nil, 0.5),
        ]
        let measures = Measure.common + [SinglesContender.keptBytes]
        let goals = SinglesScenario.goals(scenario("singles", runs, measures, compare: SinglesScenario.compare))
        #expect(goals.prefix(7).allSatisfy { $0.verdict == .unmeasured })
        #expect(goals.dropFirst(7).map(\.figure) == [40, 8, 2, 1.05, 1.2, 1, 340, 30, 25_000])
        #expect(
            goals.dropFirst(7).map(\.verdict) == [.missed, .missed, .met, .met, .missed, .met, .met, .missed, .met]
        )
    }

    /// 100,000 messages in 23 seconds are 4,348 a second, in 24 seconds 4,167.
    @Test(arguments: [(23.0, 14.0), (24, nil)])
    func gatewayCostsRedisWhatItDoesAtTheRateOfTheBound(seconds: Double, figure: Double?) {
        var bytes = sample(cpu: 1, figures: ["sends_per_core_second": 5_100])
        (bytes.wallSeconds, bytes.redisCPUSeconds) = (seconds, 1.4)
        let runs = [
            "h2load": [sample(cpu: 1, figures: ["sends_per_core_second": 9_000])], "sdk-bytes": [bytes],
            "paced": [sample(cpu: 1, figures: ["p99_ms": 16.5])], "worker": [sample(cpu: 1, figures: ["p99_ms": 5])],
        ]
        let report = scenario("gateway", runs, [.rate, .redis, GatewayScenario.core, LatencyScenario.p99])
        let goals = GatewayScenario.goals(report, direct: "worker")
        #expect(goals.map(\.figure) == [9_000, nil, 5_100, figure, 11.5])
        #expect(goals.map(\.verdict) == [.missed, .unmeasured, .met, figure == nil ? .unmeasured : .met, .missed])
    }

    @Test func mixIsWithoutTheCostOfWaiting() {
        func reading(_ wall: Double, cpu: Double, redis: Double, sink: Double?) -> Reading {
            Reading(
                wallSeconds: wall,
                cpuSeconds: cpu,
                startUpCPUSeconds: 1,
                redisCPUSeconds: redis,
                sinkCPUSeconds: sink,
                peakMemoryMegabytes: 1
            )
        }
        let waiting = reading(4, cpu: 0.5, redis: 0.25, sink: 0.125)
        let rest = reading(30, cpu: 8, redis: 6, sink: 2).less(waiting, seconds: 16)
        #expect(rest.cpuSeconds == 6 && rest.redisCPUSeconds == 5 && rest.sinkCPUSeconds == 1.5)
        #expect(rest.wallSeconds == 30)
    }

    private func scenario(
        _ name: String,
        _ runs: [String: [RunSample]],
        _ measures: [Measure],
        compare: [(Measure, String, String)] = []
    ) -> Report {
        Report(
            scenario: name,
            parameters: [:],
            startedAt: Date(timeIntervalSince1970: 0),
            contenders: runs.keys.map { NamedContender(name: $0) },
            runs: runs,
            measures: measures,
            compare: compare
        )
    }

    @Test func sizeLooksAtTheLargestPeak() {
        let report = Report(
            scenario: "size",
            parameters: [:],
            startedAt: Date(timeIntervalSince1970: 0),
            contenders: [NamedContender(name: "small"), NamedContender(name: "large")],
            runs: ["small": [sample(cpu: 1, memory: 50)], "large": [sample(cpu: 1.05, memory: 97)]],
            compare: [(.cpu, "large", "small"), (.memory, "large", "small")]
        )
        let goals = SizeScenario.goals(report, sides: ["small", "large"])
        #expect(goals.map(\.figure) == [1.05, 97, 1.94, nil, nil])
        #expect(goals.prefix(3).map(\.verdict) == [.met, .missed, .missed])
    }

    @Test func sizeComparesThePeaksOfTheEngines() {
        let peaks = ["small": 70.0, "large": 80, "small-nghttp2": 88, "large-nghttp2": 60]
        let report = Report(
            scenario: "size",
            parameters: [:],
            startedAt: Date(timeIntervalSince1970: 0),
            contenders: peaks.keys.map { NamedContender(name: $0) },
            runs: peaks.mapValues { [sample(cpu: 1, memory: $0)] },
            compare: []
        )
        let goals = SizeScenario.goals(report, sides: ["small", "large"]).suffix(2)
        #expect(goals.map(\.figure) == [88, 1.1])
        #expect(goals.map(\.verdict) == [.met, .missed])
    }
}
