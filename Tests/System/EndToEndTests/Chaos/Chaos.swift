import Foundation
import RedisTransport
import TestSupport
import Testing

/// Lets so many scenarios at once do their harm: beside more than one other they would wait for the processor, not for
/// what is tested. What follows the harm is mostly waiting (retries take ten seconds and more) and needs no turn.
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

/// One scenario: a load of `rounds` parts on a fleet of workers, a harm in the midst of each part, and an audit of every
/// recipient. The figures are printed, and what always holds is expected here.
///
/// - Parameters:
///   - part: recipients per round.
///   - delayMs: how long the sandbox takes for an answer, so that a harm finds sends on the wire; 0 sets no fault.
///   - redisURL, endpoint: where the workers look, if not straight at the rig's servers.
///   - deployment: where the test itself looks for Redis.
///   - environment: what the workers find in theirs beside the test's own.
///   - isEveryDuplicateFlagged: false where Redis itself forgets.
///   - harm: what happens in a round, once its sends are under way.
/// - Returns: the run and its audit, for what the scenario promises beyond that.
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
    harm: (ChaosRun, Int) async throws -> Void
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
        try await run.hire(workers)
        for round in 1...rounds {
            try await run.begin(round)
            try await harm(run, round)
            if round % 10 == 0, round < rounds { print("\(name): \(round) of \(rounds) rounds") }
        }
        await leave()
        try await run.finish()
        try await run.timeDeaths()
        let audit = try await ChaosAudit(load, rig)
        print(run.figures(name, audit, seconds: started.duration(to: .now) / .seconds(1)))
        expectWhatAlwaysHolds(audit, load)
        if isEveryDuplicateFlagged { #expect(audit.unflagged == 0, "\(audit.unflaggedTokens.prefix(5))") }
        return (run, audit)
    } catch {
        await leave()
        throw error
    }
}

private func expectWhatAlwaysHolds(_ audit: ChaosAudit, _ load: ChaosLoad) {
    #expect(audit.lost == 0, "nobody is forgotten")
    #expect(audit.repeated == 0, "one result each")
    #expect(audit.problems.isEmpty, "\(audit.problems.prefix(10).joined(separator: "\n"))")
    if load.isAtMostOnce { #expect(audit.duplicates == 0) } else { #expect(audit.unknown == 0) }
}
