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

        init(total: Int64, quota: Int64, most: Double) {
            (self.total, self.quota, self.most) = (total, quota, most)
            level = max(0.985 * Double(quota) / 60 / 50, 10)
        }

        var full: Double { 0.985 * Double(quota) / 60 }

        mutating func step() {
            let pace = min(level, most)
            sent = min(Double(total), sent + pace * 0.05)
            // The rate climbs while the bucket is drained, and falls while it is full.
            let slope = (full - max(full / 50, 10)) / 60
            level = min(full, max(max(full / 50, 10), level + slope * (2 * pace / level - 1) * 0.05))
            seconds += 0.05
        }

        func snapshot() throws -> ProjectSnapshot {
            let nowMs = Int64((seconds * 1_000).rounded()) + 1_000
            var overview = try #require(OverviewReply(.array([.bulk(Array("now_ms".utf8)), .integer(nowMs)])))
            (overview.open, overview.workersAlive, overview.quotaPerMinute) = (1, 1, quota)
            overview.permitsPerSecond = level
            let fields = ["state", "active", "total", "\(total)", "sent", "\(Int64(sent))", "started_ms", "1000"]
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
        var testDescription: String { "\(total) at \(quota) a minute, at most \(most) a second" }
    }

    @Test(arguments: [
        Row(total: 100_000, quota: 60_000), Row(total: 100_000, quota: 600_000), Row(total: 100_000, quota: 1_200_000),
        Row(total: 1_000_000, quota: 60_000), Row(total: 1_000_000, quota: 600_000),
        Row(total: 1_000_000, quota: 1_200_000), Row(total: 100_000, quota: 600_000, most: 1_000),
        Row(total: 1_000_000, quota: 1_200_000, most: 2_000), Row(total: 100_000, quota: 600_000, most: 300),
    ])
    func estimateIsWithinAFifthOfTheTruthFromTheTenthSecondOn(row: Row) throws {
        var project = Project(total: row.total, quota: row.quota, most: row.most)
        var meter = FleetMeter()
        var estimates: [(at: Double, by: String, seconds: Double?)] = []
        var second = 0.0
        while project.sent < Double(project.total) {
            if project.seconds >= second {
                let snapshot = try project.snapshot()
                meter.add(FleetSnapshot(projects: [snapshot]))
                if second >= 10, project.sent < 0.9 * Double(project.total) {
                    let job = try #require(snapshot.holding.first)
                    let once = JobProgress(status: job.status, nowMs: snapshot.askedMs, project: snapshot.overview)
                    estimates.append((project.seconds, "meter", meter.remainingSeconds(of: job, in: snapshot)))
                    estimates.append((project.seconds, "drain", meter.drainSeconds(of: snapshot)))
                    estimates.append((project.seconds, "one reading", once.remainingSeconds))
                }
                second += 1
            }
            project.step()
        }
        #expect(estimates.count > 30)
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
