import StreamWire
import Testing

@testable import FanfareClient

/// Estimates against the true end, in virtual time.
@Suite struct CompletionEstimateTests {
    /// A project that sends one fan-out from idle, by the law of the page Pacing.
    private struct Project {
        let total: Int64
        let quota: Int64
        /// Sends a second that the workers manage at most.
        let most: Double
        var level: Double
        var sent = 0.0
        var seconds = 0.0
        /// Within these seconds nothing is sent.
        var stop: ClosedRange<Double>?
        var pace: [Int64] = []

        init(total: Int64, quota: Int64, most: Double) {
            (self.total, self.quota, self.most) = (total, quota, most)
            level = max(0.985 * Double(quota) / 60 / 50, 10)
        }

        var full: Double { 0.985 * Double(quota) / 60 }

        mutating func step() {
            defer { seconds += 0.05 }
            if stop?.contains(seconds) == true { return }
            let pace = min(level, most)
            sent = min(Double(total), sent + pace * 0.05)
            // The rate climbs while the bucket is drained, and falls while it is full.
            let slope = (full - max(full / 50, 10)) / 60
            level = min(full, max(max(full / 50, 10), level + slope * (2 * pace / level - 1) * 0.05))
            markPace()
        }

        /// As `mark_pace` of the library does.
        private mutating func markPace() {
            let (now, tried) = (Int64((seconds * 1_000).rounded()) + 1_000, Int64(sent))
            if pace.isEmpty { pace = [now, tried, now, tried, now] }
            let still = now - pace[4]
            if still > 3_000, still * (tried - pace[1]) > 20 * (pace[4] - pace[0]) {
                pace = [now, tried, now, tried, now]
            } else if now - pace[2] >= 60_000 || (now - pace[2] >= 3_000 && tried - pace[3] >= 100) {
                pace = [pace[2], pace[3], now, tried, now]
            }
            pace[4] = now
        }

        func snapshot() throws -> ProjectSnapshot {
            let nowMs = Int64((seconds * 1_000).rounded()) + 1_000
            var overview = try #require(OverviewReply(.array([.bulk(Array("now_ms".utf8)), .integer(nowMs)])))
            (overview.open, overview.workersAlive, overview.quotaPerMinute) = (1, 1, quota)
            overview.permitsPerSecond = level
            let fields =
                ["state", "active", "total", "\(total)", "sent", "\(Int64(sent))", "started_ms", "1000"]
                + (pace.isEmpty ? [] : ["pace", pace.map(String.init).joined(separator: " ")])
            let status = try #require(JobStatus(id: "j", reply: .array(fields.map { .bulk(Array($0.utf8)) })))
            var project = ProjectSnapshot(id: "p", overview: overview)
            project.tally.sent = Int64(sent)
            project.recipientsWaiting = total - Int64(sent)
            project.holding = [FleetJob(status: status)]
            return project
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var total: Int64
        var quota: Int64
        var most = Double.infinity
        var stop: ClosedRange<Double>?
        var testDescription: String {
            "\(total) at \(quota) a minute, at most \(most) a second, \(stop.map { "still \($0)" } ?? "")"
        }
    }

    @Test(arguments: [
        Row(total: 100_000, quota: 60_000), Row(total: 100_000, quota: 600_000), Row(total: 100_000, quota: 1_200_000),
        Row(total: 1_000_000, quota: 60_000), Row(total: 1_000_000, quota: 600_000),
        Row(total: 1_000_000, quota: 1_200_000), Row(total: 100_000, quota: 600_000, most: 1_000),
        Row(total: 1_000_000, quota: 1_200_000, most: 2_000), Row(total: 100_000, quota: 600_000, most: 300),
        // A pause, a canary that waits for an hour, and a window.
        Row(total: 200_000, quota: 600_000, most: 2_000, stop: 20...60),
        Row(total: 20_000, quota: 600_000, most: 200, stop: 4...3_600),
        Row(total: 100_000, quota: 60_000, stop: 60...400),
    ])
    func estimateIsWithinAFifthOfTheTruthFromTheTenthSecondOn(row: Row) throws {
        var project = Project(total: row.total, quota: row.quota, most: row.most)
        project.stop = row.stop
        var meter = FleetMeter()
        var estimates: [(at: Double, by: String, seconds: Double?)] = []
        var second = 0.0
        while project.sent < Double(project.total) {
            if project.seconds >= second {
                let snapshot = try project.snapshot()
                meter.add(FleetSnapshot(projects: [snapshot]))
                let isJudged = row.stop.map { second >= $0.upperBound + 10 } ?? (second >= 10)
                if isJudged, project.sent < 0.9 * Double(project.total) {
                    let job = try #require(snapshot.holding.first)
                    let once = JobProgress(status: job.status, nowMs: snapshot.askedMs, project: snapshot.overview)
                    #expect(meter.drainSeconds(of: snapshot) == once.remainingSeconds)
                    estimates.append((project.seconds, "one reading", once.remainingSeconds))
                }
                second += 1
            }
            project.step()
        }
        #expect(estimates.count > 10)
        for estimate in estimates {
            let truth = project.seconds - estimate.at
            let ratio = (estimate.seconds ?? 0) / truth
            #expect(abs(ratio - 1) <= 0.2, "\(estimate.by) at \(estimate.at) s: \(ratio) of \(truth) s")
        }
    }

    @Test func rampGivesItsPermitsInTheTimeThatItSays() throws {
        let ramp = try #require(CompletionEstimate.Ramp(quotaPerMinute: 600_000, permitsPerSecond: 197))
        // Half of the climb, all of it, and beyond.
        #expect(abs(ramp.seconds(for: 197 * 30 + ramp.slope * 450) - 30) < 0.001)
        #expect(abs(ramp.seconds(for: (197 + 9_850) / 2 * 60) - 60) < 0.001)
        #expect(abs(ramp.seconds(for: (197 + 9_850) / 2 * 60 + 9_850) - 61) < 0.001)
        #expect(ramp.seconds(for: 0) == 0)
        #expect(CompletionEstimate.Ramp(quotaPerMinute: 0, permitsPerSecond: 1) == nil)
        // A quota so small that its ramp does not climb.
        let flat = try #require(CompletionEstimate.Ramp(quotaPerMinute: 60, permitsPerSecond: 0.985))
        #expect(abs(flat.seconds(for: 9.85) - 10) < 0.001)
    }
}
