import Foundation
import TestSupport
import Testing

/// Workers that are killed, frozen or terminated while they send.
@Suite struct WorkerChaos {
    @Test(arguments: ["at_least_once", "at_most_once"])
    func killedWorkers(delivery: String) async throws {
        let rounds = ChaosScale.rounds(short: 6)
        let (run, audit) = try await chaos(
            "killedWorkers \(delivery)",
            rounds: rounds,
            part: 600,
            delivery: delivery
        ) { run, _ in
            try await run.kill9(run.pick())
            try await run.startWorkers()
        }
        #expect(audit.duplicates <= rounds * run.maximumInFlight)
        // Unknown recipients are the recipients in flight and below the watermark.
        #expect(audit.unknown <= rounds * (run.maximumInFlight + ChaosRun.projects.count * 2 * ChaosRun.window))
        #expect(!run.recoveries.isEmpty)
        #expect(
            run.recoveries.allSatisfy { $0 <= ChaosRun.detectionSeconds },
            "a death was detected later than the lease and 2 s"
        )
    }

    /// A worker that was frozen for longer than its lease resumes as a zombie. Redis accepts its results but not its
    /// decisions.
    @Test func frozenWorkers() async throws {
        let rounds = ChaosScale.rounds(short: 2, longShare: 0.5)
        let (run, audit) = try await chaos("frozenWorkers", rounds: rounds, part: 1_500) { run, _ in
            let zombie = run.fleet[run.pick()].process
            zombie.signal(SIGSTOP)
            try await Task.sleep(for: .seconds(ChaosRun.leaseSeconds * run.draw(1.2...3)))
            zombie.signal(SIGCONT)
            run.disturbances += 1
        }
        #expect(audit.duplicates <= rounds * run.maximumInFlight)
    }

    @Test func rollingRestart() async throws {
        let rounds = ChaosScale.rounds(short: 6)
        let (_, audit) = try await chaos("rollingRestart", rounds: rounds, part: 500) { run, _ in
            try await run.startWorkers()
            let leaver = run.removeWorker(0).process
            let signalled = ContinuousClock.now
            leaver.signal(SIGTERM)
            #expect(try await leaver.wait(seconds: 20) == 0)
            run.disturbances += 1
            let passed = signalled.duration(to: .now)
            run.recoveries.append(passed / .seconds(1))
            #expect(passed <= .seconds(15))
        }
        #expect(audit.duplicates == 0 && audit.flagged == 0, "a terminated worker leaves no ambiguous sends")
    }
}
