import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// One scenario under way: a load, a fleet of workers, and what was done to them.
final class ChaosRun {
    static let inFlight = 50
    static let window = 32
    static let projects = ["alpha", "beta"]
    static let leaseSeconds = 1.5

    let rig: Rig
    let load: ChaosLoad
    let configuration: String
    var random: SeededGenerator
    /// Those that should be alive, by name.
    private(set) var fleet: [(name: String, process: ChildProcess)] = []
    private var everyone: [ChildProcess] = []
    private var deaths: [(name: String, at: Date)] = []
    var harms = 0
    var recoveries: [Double] = []

    init(rig: Rig, load: ChaosLoad, configuration: String, seed: UInt64) {
        self.rig = rig
        self.load = load
        self.configuration = configuration
        random = SeededGenerator(seed: seed)
    }

    /// What one worker can have under way: a send whose answer is known, but not yet written, has left its place to
    /// another, hence the tenth.
    var mostInFlight: Int { Self.inFlight * Self.projects.count * 11 / 10 }

    func hire(_ count: Int = 1) async throws {
        for _ in 0..<count {
            let name = "chaos-" + String(everyone.count + 1_000)
            let process = try await rig.startWorker(configuration, ["--name", name])
            fleet.append((name, process))
            everyone.append(process)
        }
    }

    func pick() -> Int { Int(random.next() % UInt64(fleet.count)) }

    func draw(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &random) }

    /// Takes a worker out of the fleet without a word to it.
    func dismiss(_ index: Int) -> (name: String, process: ChildProcess) { fleet.remove(at: index) }

    func kill9(_ index: Int) async throws {
        let victim = dismiss(index)
        deaths.append((victim.name, Date()))
        victim.process.signal(SIGKILL)
        _ = try await victim.process.wait()
        harms += 1
    }

    /// Spreads the rounds over the load: returns when about `round` of `rounds` parts of it were sent.
    func reach(_ round: Int, of rounds: Int) async throws {
        let goal = Int(Double(load.recipients) * (Double(round) - 0.5 + draw(-0.2...0.2)) / Double(rounds + 1))
        try await Wait.until("\(goal) sends\n\(rig.logs)", seconds: ChaosScale.patienceSeconds, everyMs: 100) {
            try await rig.stats().sends >= goal
        }
    }

    /// Measures from `since` until another result is written.
    func recover(since: ContinuousClock.Instant) async throws {
        var before: Int64?
        try await Wait.until("results to go on\n\(rig.logs)", seconds: 60) {
            guard let now = try? await written() else { return false }
            guard let known = before else {
                before = now
                return try await areOver()
            }
            return now > known ? true : try await areOver()
        }
        let passed = since.duration(to: .now)
        recoveries.append(Double(passed.components.seconds) + Double(passed.components.attoseconds) / 1e18)
    }

    private func written() async throws -> Int64 {
        var all: Int64 = 0
        for project in rig.projects {
            all += try await rig.client.send(RedisCommand("XLEN", "fanfare:{\(project)}:results")).integer ?? 0
        }
        return all
    }

    private func areOver() async throws -> Bool {
        for job in load.jobs {
            guard let state = try? await rig.job(job.id, in: job.project)["state"], Rig.over.contains(state) else {
                return false
            }
        }
        return true
    }

    /// Waits for the last result.
    func finish() async throws {
        var open: [String] = []
        try await Wait.until("\(open) to be over\n\(rig.logs)", seconds: ChaosScale.patienceSeconds, everyMs: 200) {
            open = []
            for job in load.jobs where open.isEmpty {
                let hash = (try? await rig.job(job.id, in: job.project)) ?? [:]
                if !Rig.over.contains(hash["state"] ?? "") { open.append("\(job.project)/\(job.id): \(hash)") }
            }
            return open.isEmpty
        }
    }

    /// How long each worker that was killed went unnoticed, by the survivors' logs.
    func timeDeaths() async throws {
        for death in deaths {
            var noticed: Date?
            try await Wait.until("a survivor to miss \(death.name)", seconds: Self.leaseSeconds + 10) {
                noticed = obituary(death.name)
                return noticed != nil
            }
            if let noticed { recoveries.append(noticed.timeIntervalSince(death.at)) }
        }
    }

    private func obituary(_ name: String) -> Date? {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return everyone.flatMap { process in
            process.stderr.split(separator: "\n").filter { $0.contains("A worker is gone") && $0.contains(name) }
                .compactMap { line in line.split(separator: " ").first.flatMap { try? style.parse(String($0)) } }
        }.min()
    }

    func figures(_ name: String, _ audit: ChaosAudit, seconds: Double) -> String {
        let ordered = recoveries.sorted()
        let recovery =
            ordered.isEmpty
            ? "" : String(format: ", recovery p50 %.2f s max %.2f s", ordered[ordered.count / 2], ordered.last ?? 0)
        return "chaos \(name): seed \(ChaosScale.seed), \(harms) harms, \(audit.recipients) recipients,"
            + " \(audit.lost) lost, \(audit.repeated) repeated results, \(audit.duplicates) duplicates (\(audit.unflagged) unflagged),"
            + " \(audit.flagged) flagged, \(audit.unknown) unknown\(recovery)" + String(format: ", %.0f s", seconds)
    }
}

/// Runs a scenario on a fleet and audits every recipient.
///
/// - Parameters:
///   - delayMs: how long the sandbox takes for an answer, so that a harm finds sends on the wire. 0: no fault is set.
///   - redisURL, endpoint: where the workers look, if not straight at the rig's servers.
/// - Returns: the run and its audit, for what the scenario promises beyond the audit.
func chaos(
    _ name: String,
    recipients: Int,
    workers: Int = 3,
    delivery: String = "at_least_once",
    lostAnswers: Int = 0,
    delayMs: Int = 20,
    requestTimeoutMs: Int = 15_000,
    redis: RedisServer? = nil,
    redisURL: String? = nil,
    endpoint: ((Rig) throws -> String)? = nil,
    _ body: (ChaosRun) async throws -> Void
) async throws -> (run: ChaosRun, audit: ChaosAudit) {
    let started = Date()
    let rig = try await Rig(projects: ChaosRun.projects, redis: redis)
    defer { rig.close() }
    try await rig.startSandbox(["--quota-per-minute", "100000000", "--seed", "\(ChaosScale.seed)"])
    if delayMs > 0 {
        _ = try await rig.control("POST", "/faults", #"{"match":{"path":"/v1/"},"action":{"delay_ms":\#(delayMs)}}"#)
    }
    let configuration = try rig.configuration(
        endpoint: try endpoint?(rig),
        redisURL: redisURL,
        requestTimeoutMs: requestTimeoutMs,
        worker: "lease_ms: 1500, renew_ms: 300, max_in_flight: \(ChaosRun.inFlight), window: \(ChaosRun.window)"
    )
    let load = ChaosLoad(
        seed: ChaosScale.seed,
        projects: ChaosRun.projects,
        recipients: recipients,
        delivery: delivery,
        lostAnswers: lostAnswers
    )
    let run = ChaosRun(rig: rig, load: load, configuration: configuration, seed: ChaosScale.seed)
    try await run.hire(workers)
    try await load.push(through: rig)
    try await body(run)
    try await run.finish()
    try await run.timeDeaths()
    let audit = try await ChaosAudit(load, rig)
    print(run.figures(name, audit, seconds: Date().timeIntervalSince(started)))
    #expect(audit.lost == 0, "nobody is forgotten")
    #expect(audit.repeated == 0, "one result each")
    #expect(audit.unflagged == 0, "every duplicate is flagged")
    #expect(audit.problems.isEmpty, "\(audit.problems.prefix(10).joined(separator: "\n"))")
    if load.isAtMostOnce { #expect(audit.duplicates == 0) } else { #expect(audit.unknown == 0) }
    return (run, audit)
}
