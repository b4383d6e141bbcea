import Testing

@testable import BenchKit

struct StatisticsTests {
    static let medians: [(samples: [Double], median: Double)] = [
        ([3], 3), ([1, 9], 5), ([9, 1, 2], 2), ([4, 1, 3, 2], 2.5), ([5, 5, 5, 100], 5),
    ]

    @Test(arguments: medians)
    func medianIsTheMiddle(samples: [Double], median: Double) throws {
        let statistics = try #require(Statistics(samples))
        #expect(statistics.median == median)
        #expect(statistics.min == samples.min())
        #expect(statistics.max == samples.max())
        #expect(statistics.samples == samples)
    }

    @Test func nothingIsSaidOfNoSamples() {
        #expect(Statistics([]) == nil)
    }

    @Test func ratiosPairTheRuns() throws {
        let runs = ["a": [sample(cpu: 2), sample(cpu: 9)], "b": [sample(cpu: 1), sample(cpu: 3)]]
        let ratio = try #require(Ratio(.cpu, of: "a", to: "b", in: runs))
        #expect(ratio.byRound.samples == [2, 3])
        #expect(ratio.ofMedians == 5.5 / 2)
        #expect(ratio.name == "a/b cpu_us_per_send")
    }

    @Test func aSideThatDidNotRunHasNoRatio() {
        #expect(Ratio(.cpu, of: "a", to: "b", in: ["a": [sample(cpu: 2)]]) == nil)
        #expect(Ratio(.redis, of: "a", to: "a", in: ["a": [sample(cpu: 2)]]) == nil)
    }

    @Test func figuresArePerSend() {
        let run = sample(cpu: 2)
        #expect(run.cpuMicrosecondsPerSend == 20)
        #expect(run.sendsPerSecond == 25_000)
    }

    @Test func aScenariosOwnFiguresAreMeasures() {
        let share = Measure.figure("share", "share", decimals: 1)
        #expect(share.value(sample(cpu: 1, figures: ["share": 98.5])) == 98.5)
        #expect(share.value(sample(cpu: 1)) == nil)
    }
}
