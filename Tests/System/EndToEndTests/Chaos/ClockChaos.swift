import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Wall clocks that jump by an hour: Redis' clock or a worker's.
@Suite struct ClockChaos {
    private static let hour = 3_600

    /// The clock's offset after a step: an hour ahead, correct, an hour behind, correct.
    private static func ahead(_ step: Int) -> Int { [hour, 0, -hour, 0][step % 4] }

    @Test(arguments: ["redis", "worker"])
    func steppedClock(process: String) async throws {
        let steps = ChaosScale.rounds(short: 2, longShare: 0.2)
        let clocks = try SteppedClocks()
        let redis = try RedisServer(environment: clocks.environment())
        var offsets: [Int64] = []
        let (run, audit) = try await chaos(
            "steppedClock \(process)",
            rounds: steps,
            part: 1_500,
            redis: redis,
            environment: clocks.environment()
        ) { run, round in
            let ahead = Self.ahead(round - 1)
            try await clocks.set(process == "redis" ? redis.pid : run.fleet[0].process.pid, ahead: ahead)
            run.disturbances += 1
            try await watch(run, for: .seconds(3))
            guard process == "redis" else { return }
            let time = try await run.rig.client.send(RedisCommand("TIME")).array?.first?.string.flatMap { Int64($0) }
            offsets.append((time ?? 0) - Int64(Date().timeIntervalSince1970) - Int64(ahead))
        }
        #expect(offsets.allSatisfy { abs($0) <= 2 }, "the clock was not set: \(offsets)")
        #expect(audit.duplicates == 0 && audit.flagged == 0, "a worker was declared dead")
        #expect(run.recoveries.allSatisfy { $0 <= ChaosRun.leaseSeconds }, "stalled for \(run.recoveries) s")
    }

    /// Records the longest time without a new result in a project with an active fan-out. Expects that no project is
    /// blocked.
    private func watch(_ run: ChaosRun, for time: Duration) async throws {
        let rig = run.rig
        let end = ContinuousClock.now + time
        var last: [String: (written: Int, at: ContinuousClock.Instant)] = [:]
        var longest = Duration.zero
        var blocks: Set<String> = []
        while ContinuousClock.now < end {
            for project in rig.projects {
                let base = "fanfare:{\(project)}:"
                if let block = try await rig.client.send(RedisCommand("HGET", base + "ctl", "block")).string {
                    blocks.insert("\(project): \(block)")
                }
                let written = try await rig.length("results", in: project)
                let isActive = try await rig.client.send(RedisCommand("HLEN", base + "active")).integer != 0
                let now = ContinuousClock.now
                if let before = last[project], before.written == written, isActive {
                    longest = max(longest, before.at.duration(to: now))
                } else {
                    last[project] = (written, now)
                }
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        run.recoveries.append(longest / .seconds(1))
        #expect(blocks.isEmpty)
    }
}
