internal import Foundation

/// Two workers with topic jobs that are pushed at the same moment.
struct FanoutsContender: Contender {
    /// Recipients a second that all fan-outs of the project share.
    static let rate = 10_000
    static let mean = Measure.figure("mean_seconds", "mean s", decimals: 2)
    static let last = Measure.figure("last_seconds", "last s", decimals: 2)

    let name: String
    let summary: String
    private let bench: Bench
    private let count: Int
    private let subscribers: Int
    private let atOnce: Int

    init(_ bench: Bench, name: String, count: Int, subscribers: Int, atOnce: Int) {
        self.bench = bench
        self.name = name
        self.count = count
        self.subscribers = subscribers
        self.atOnce = atOnce
        summary = "\(count) jobs to topics, at most \(atOnce) under way"
    }

    func run(sends: Int) throws -> RunSample {
        let sandbox = try Sandbox(
            executable: try bench.fanfare(),
            options: ["--fanout-rate", "\(Self.rate)"],
            in: bench.workspace
        )
        defer { sandbox.stop() }
        var settings = WorkerSettings()
        settings.activeFanouts = atOnce
        settings.fanoutRate = Self.rate
        let fleet = try bench.fleet(sandbox.target, workers: 2, settings: settings)
        defer { fleet.stop() }
        for index in 0..<count {
            try sandbox.post("/devices", #"{"topic":"topic\#(index)","subscribers":\#(subscribers)}"#)
        }
        let pushedMs = Date().timeIntervalSince1970 * 1_000
        let (_, reading) = try fleet.meter(sink: nil) {
            for index in 0..<count {
                let target = JobContent.Target.topic("topic\(index)", audience: subscribers)
                try fleet.job("topic\(index)").push(JobContent(target: target))
            }
            let seconds = 3 * Double(count * subscribers) / Double(Self.rate) + 30
            try Patience.wait(for: "the fan-outs", seconds: seconds, every: 0.2) { () -> Void? in
                try fleet.throwIfEnded()
                return try sandbox.fanoutEnds().count == count ? () : nil
            }
        }
        let seconds = try sandbox.fanoutEnds().map { ($0 - pushedMs) / 1_000 }
        try fleet.drain()
        let mean = seconds.reduce(0, +) / Double(count)
        return reading.sample(
            sends: count,
            figures: [Self.mean.name: mean, Self.last.name: seconds.max() ?? 0]
        )
    }
}
