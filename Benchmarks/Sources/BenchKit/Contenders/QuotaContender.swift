internal import Foundation

/// Two workers, and a sandbox that keeps count as FCM does.
struct QuotaContender: Contender {
    static let quotaPerMinute = 60_000
    static let workers = 2
    /// From idle the rate climbs for a minute.
    static let rampSeconds = 63
    static let used = Measure.figure("quota_used_percent", "used %", decimals: 2)
    static let refused = Measure.figure("refused", "429s", decimals: 0)

    let name = "worker"
    let summary = "\(workers) workers with one fan-out larger than the quota"
    private let bench: Bench
    private let seconds: Int

    init(_ bench: Bench, seconds: Int) {
        self.bench = bench
        self.seconds = seconds
    }

    /// - Parameter sends: not used: the quota says how many.
    func run(sends: Int) throws -> RunSample {
        let sandbox = try Sandbox(
            executable: try bench.fanfare(),
            options: ["--quota-per-minute", "\(Self.quotaPerMinute)"],
            in: bench.workspace
        )
        defer { sandbox.stop() }
        var settings = WorkerSettings()
        settings.quotaPerMinute = Self.quotaPerMinute
        let perSecond = Self.quotaPerMinute / 60
        let tokens = Payload.tokenArray(perSecond * (Self.rampSeconds + seconds + 10))
        let fleet = try bench.fleet(sandbox.target, workers: Self.workers, settings: settings)
        defer { fleet.stop() }
        let job = fleet.job("measured")
        try job.push(.tokens(tokens))
        try fleet.pause(seconds: Double(Self.rampSeconds))
        let before = try job.sentSoFar()
        let (_, reading) = try fleet.meter(sink: nil) { try fleet.pause(seconds: Double(seconds)) }
        let sent = try job.sentSoFar() - before
        guard sent > 0 else { throw BenchError.failed("nothing was sent within \(seconds) s") }
        let refused = try sandbox.quotaRefusals()
        let share = 100 * Double(sent) / (reading.wallSeconds * Double(perSecond))
        return reading.sample(
            sends: sent,
            figures: [Self.used.name: share, Self.refused.name: Double(refused)]
        )
    }
}
