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
        let rig = try await Rig(projects: ChaosRun.projects, redis: redis, deployment: deployment)
        defer { rig.close() }
        let started = ContinuousClock.now
        try await rig.startSandbox(["--quota-per-minute", "100000000", "--seed", "\(ChaosScale.seed)"])
        if delayMs > 0 {
            let fault = #"{"match":{"path":"/v1/"},"action":{"delay_ms":\#(delayMs)}}"#
            _ = try await rig.control("POST", "/faults", fault)
        }
        let configuration = try rig.configuration(
            endpoint: try endpoint?(rig),
            redisURL: redisURL,
            durability: durability,
            requestTimeoutMs: requestTimeoutMs,
            worker: "lease_ms: \(leaseMs), renew_ms: \(leaseMs / 5), max_in_flight: \(ChaosRun.inFlight),"
                + " window: \(ChaosRun.window)"
        )
        let run = ChaosRun(
            rig: rig,
            load: load,
            configuration: configuration,
            environment: environment,
            seed: ChaosScale.seed
        )
        try await run.startWorkers(workers)
        for round in 1...rounds {
            try await run.push(round)
            try await disturb(run, round)
            if round % 10 == 0, round < rounds { print("\(name): \(round) of \(rounds) rounds") }
        }
        await leave()
        try await run.awaitEnd()
        try await run.measureDetections()
        let audit = try await ChaosAudit(load, rig)
        print(run.figures(name, audit, seconds: started.duration(to: .now) / .seconds(1)))
        expectInvariants(audit, load)
        if isEveryDuplicateFlagged { #expect(audit.unflagged == 0, "\(audit.unflaggedTokens.prefix(5))") }
        return (run, audit)
    } catch {
        await leave()
        throw error
    }
}

private func expectInvariants(_ audit: ChaosAudit, _ load: ChaosLoad) {
    #expect(audit.lost == 0, "a recipient has no result")
    #expect(audit.repeated == 0, "a recipient has more than one result")
    #expect(audit.problems.isEmpty, "\(audit.problems.prefix(10).joined(separator: "\n"))")
    if load.isAtMostOnce { #expect(audit.duplicates == 0) } else { #expect(audit.unknown == 0) }
}
