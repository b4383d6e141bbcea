import Foundation
import RedisTransport
import TestSupport
import Testing

/// Semaphore that limits how many scenarios disturb their fleet at once: more would measure the processor, not Fanfare.
/// After its disturbances a scenario mostly waits (retries take ten seconds and more) and needs no slot.
private actor Turnstile {
    static let shared = Turnstile(free: 2)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(free: Int) { self.free = free }

    func enter() async {
        if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
    }

    func leave() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}

/// Runs one scenario: a load of `rounds` parts on a fleet of workers, a disturbance during each part, and an audit of
/// every recipient. Prints the figures and expects the invariants of every scenario.
///
/// - Parameters:
///   - part: recipients per round.
///   - delayMs: the sandbox's answer time, so that the disturbance meets sends in flight; 0 for no delay.
///   - redisURL, endpoint: the addresses that the workers use; nil for the rig's servers.
///   - deployment: the address of Redis for the test's own client.
///   - environment: additional environment variables of the workers.
///   - isEveryDuplicateFlagged: false if Redis itself loses state in the scenario.
///   - disturb: disturbs the fleet; called in each round while sends are in flight.
/// - Returns: the run and its audit, for the scenario's own expectations.
func chaos(
    _ name: String,
    rounds: Int,
    part: Int,
    workers: Int = 3,
    delivery: String = "at_least_once",
    lostAnswers: Int = 0,
    leaseMs: Int = ChaosRun.leaseMs,
    delayMs: Int = 100,
    requestTimeoutMs: Int = 15_000,
    redis: RedisServer? = nil,
    redisURL: String? = nil,
    deployment: RedisDeployment? = nil,
    durability: String = "fast",
    endpoint: ((Rig) throws -> String)? = nil,
    environment: [String: String] = [:],
    isEveryDuplicateFlagged: Bool = true,
    disturb: (ChaosRun, Int) async throws -> Void
) async throws -> (run: ChaosRun, audit: ChaosAudit) {
    let load = ChaosLoad(
        seed: ChaosScale.seed,
        projects: ChaosRun.projects,
        rounds: rounds,
        part: part,
        delivery: delivery,
        lostAnswers: lostAnswers
    )
    await Turnstile.shared.enter()
    var isInside = true
    func leave() async {
        if isInside { await Turnstile.shared.leave() }
        isInside = false
    }
    do {
        return try await withRig(projects: ChaosRun.projects, redis: redis, deployment: deployment) { rig in
            let started = ContinuousClock.now
            try await rig.startChaosSandbox(delayMs: delayMs)
            let configuration = try rig.configuration(
                endpoint: try endpoint?(rig),
                redisURL: redisURL,
                durability: durability,
                requestTimeoutMs: requestTimeoutMs,
                worker: ChaosRun.settings(leaseMs: leaseMs)
            )
            let run = ChaosRun(
                rig: rig,
                load: load,
                configuration: configuration,
                environment: environment,
                seed: ChaosScale.seed
            )
            try await run.play(name, rounds: rounds, workers: workers, disturb)
            await leave()
            return (run, try await run.audit(name, since: started, isEveryDuplicateFlagged: isEveryDuplicateFlagged))
        }
    } catch {
        await leave()
        throw error
    }
}

extension Rig {
    /// Starts a sandbox without a quota of its own that answers sends after `delayMs`.
    fileprivate func startChaosSandbox(delayMs: Int) async throws {
        try await startSandbox(["--quota-per-minute", "100000000", "--seed", "\(ChaosScale.seed)"])
        guard delayMs > 0 else { return }
        let fault = #"{"match":{"path":"/v1/"},"action":{"delay_ms":\#(delayMs)}}"#
        _ = try await control("POST", "/faults", fault)
    }
}

extension ChaosRun {
    /// The section `worker` of the workers' configuration.
    fileprivate static func settings(leaseMs: Int) -> String {
        "lease_ms: \(leaseMs), renew_ms: \(leaseMs / 5), max_in_flight: \(inFlight), window: \(window)"
    }

    /// Starts the workers, then pushes one part of the load and disturbs the fleet in each round.
    fileprivate func play(
        _ name: String,
        rounds: Int,
        workers: Int,
        _ disturb: (ChaosRun, Int) async throws -> Void
    ) async throws {
        try await startWorkers(workers)
        for round in 1...rounds {
            try await push(round)
            try await disturb(self, round)
            if round % 10 == 0, round < rounds { print("\(name): \(round) of \(rounds) rounds") }
        }
    }

    /// Waits for the end of every job, prints the scenario's figures and expects the invariants of every scenario.
    fileprivate func audit(
        _ name: String,
        since started: ContinuousClock.Instant,
        isEveryDuplicateFlagged: Bool
    ) async throws -> ChaosAudit {
        try await awaitEnd()
        try await measureDetections()
        let audit = try await ChaosAudit(load, rig)
        print(figures(name, audit, seconds: started.duration(to: .now) / .seconds(1)))
        expectInvariants(audit, load)
        if isEveryDuplicateFlagged { #expect(audit.unflagged == 0, "\(audit.unflaggedTokens.prefix(5))") }
        return audit
    }
}

private func expectInvariants(_ audit: ChaosAudit, _ load: ChaosLoad) {
    #expect(audit.lost == 0, "a recipient has no result")
    #expect(audit.repeated == 0, "a recipient has more than one result")
    #expect(audit.faults.isEmpty, "\(audit.faults.prefix(10).joined(separator: "\n"))")
    if load.isAtMostOnce { #expect(audit.duplicates == 0) } else { #expect(audit.unknown == 0) }
}
