import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The state of one scenario: its load, its fleet of workers, and the disturbances so far.
final class ChaosRun {
    static let inFlight = 50
    static let window = 32
    static let projects = ["alpha", "beta"]
    static let leaseMs = 1_500
    static var leaseSeconds: Double { Double(leaseMs) / 1_000 }

    let rig: Rig
    let load: ChaosLoad
    let configuration: String
    private let environment: [String: String]
    var random: SeededGenerator
    /// The workers that should be alive.
    private(set) var fleet: [(name: String, process: ChildProcess)] = []
    private var allWorkers: [ChildProcess] = []
    private var deaths: [(name: String, at: Date, survivors: [String])] = []
    private var pushed = 0
    var disturbances = 0
    var recoveries: [Double] = []

    init(rig: Rig, load: ChaosLoad, configuration: String, environment: [String: String], seed: UInt64) {
        self.rig = rig
        self.load = load
        self.configuration = configuration
        self.environment = environment
        random = SeededGenerator(seed: seed)
    }

    /// The most sends of one worker without a stored result. A tenth more than its limit: a send whose answer arrived
    /// but is not yet stored no longer counts against the limit.
    var maximumInFlight: Int { Self.inFlight * Self.projects.count * 11 / 10 }

    func startWorkers(_ count: Int = 1) async throws {
        for _ in 0..<count {
            let name = "chaos-" + String(allWorkers.count + 1_000)
            let process = try await rig.startWorker(configuration, ["--name", name], environment: environment)
            fleet.append((name, process))
            allWorkers.append(process)
        }
    }

    func pick() -> Int { Int(random.next() % UInt64(fleet.count)) }

    func draw(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &random) }

    /// Removes a worker from the fleet; its process continues.
    func removeWorker(_ index: Int) -> (name: String, process: ChildProcess) { fleet.remove(at: index) }

    func kill9(_ index: Int) async throws {
        let victim = removeWorker(index)
        deaths.append((victim.name, Date(), fleet.map(\.name)))
        victim.process.signal(SIGKILL)
        _ = try await victim.process.wait()
        disturbances += 1
    }

    /// Pushes the round's part of the load and returns during its sends, so that the disturbance meets sends in flight
    /// and recipients that wait.
    func push(_ round: Int) async throws {
        let part = load.jobs.filter { $0.round == round }
        let recipients = part.reduce(0) { $0 + $1.tokens.count }
        let goal = try await rig.stats().sends + Int(Double(recipients) * draw(0.1...0.5))
        try await load.push(part, through: rig)
        pushed += recipients
        try await Wait.until("\(goal) sends\n\(rig.logs)", seconds: ChaosScale.timeoutSeconds, everyMs: 30) {
            try await rig.stats().sends >= goal
        }
    }

    /// Waits until a further result is written and records the time since `since`. Records nothing if every recipient
    /// was already sent to.
    func measureRecovery(since: ContinuousClock.Instant) async throws {
        guard try await rig.stats().sends < pushed else { return }
        var before: Int64?
        try await Wait.until("further results\n\(rig.logs)", seconds: 60) {
            guard let now = try? await written() else { return false }
            defer { if before == nil { before = now } }
            return before.map { now > $0 } ?? false
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

    /// Parked jobs that were replayed. If four killed workers in a row held the same batch, its job is parked as
    /// poison, which needs an operator.
    private(set) var replayed: Set<String> = []

    private func replayParked(_ id: String, in project: String) async throws {
        guard replayed.insert("\(project)/\(id)").inserted else { return }
        try await rig.fanfare(configuration, ["dead", "replay", "--all", "--kind", "parked"], in: project)
    }

    /// Waits for the end of every job.
    func awaitEnd() async throws {
        var open: [String] = []
        try await Wait.until("the end of \(open)\n\(rig.logs)", seconds: ChaosScale.timeoutSeconds, everyMs: 200) {
            open = []
            for job in load.jobs where open.isEmpty {
                let hash = (try? await rig.job(job.id, in: job.project)) ?? [:]
                if hash["state"] == "parked" { try await replayParked(job.id, in: job.project) }
                if !Rig.finalStates.contains(hash["state"] ?? "") { open.append("\(job.project)/\(job.id): \(hash)") }
            }
            return open.isEmpty
        }
    }

    /// Seconds within which a death has to be declared.
    static var detectionSeconds: Double { leaseSeconds + 2 }

    /// Records the time from each kill until the history marks the loss of the worker. On a fast machine the next kills
    /// may come before a survivor has watched for a whole lease. Such a death has no bound, and is skipped: the worker that
    /// declared it may have been killed before its log was written.
    func measureDetections() async throws {
        for death in deaths {
            let hasWatcher = death.survivors.contains { survivor in
                guard let end = deaths.first(where: { $0.name == survivor })?.at else { return true }
                return end.timeIntervalSince(death.at) > Self.detectionSeconds
            }
            guard hasWatcher else { continue }
            var detected: Date?
            try await Wait.until("a survivor to declare \(death.name) dead", seconds: Self.leaseSeconds + 10) {
                detected = await declaredDead(death.name)
                return detected != nil
            }
            if let detected { recoveries.append(detected.timeIntervalSince(death.at)) }
        }
    }

    /// When the history marked the loss of a worker.
    private func declaredDead(_ name: String) async -> Date? {
        var times: [Int64] = []
        for project in rig.projects {
            let reply = try? await rig.client.send(RedisCommand("XRANGE", "fanfare:{\(project)}:marks", "-", "+"))
            let marks = (reply?.array ?? []).compactMap { StreamEntry($0) }
            times += marks.filter { $0.text("kind") == "lost" && $0.text("text")?.hasPrefix("\(name).") == true }
                .compactMap(\.milliseconds)
        }
        return times.min().map { Date(timeIntervalSince1970: Double($0) / 1_000) }
    }

    func figures(_ name: String, _ audit: ChaosAudit, seconds: Double) -> String {
        let ordered = recoveries.sorted()
        let recovery =
            ordered.isEmpty
            ? "" : String(format: ", recovery p50 %.2f s max %.2f s", ordered[ordered.count / 2], ordered.last ?? 0)
        return "chaos \(name): seed \(ChaosScale.seed), \(disturbances) disturbances, \(audit.recipients) recipients,"
            + " \(audit.lost) lost, \(audit.repeated) repeated results, \(audit.duplicates) duplicates (\(audit.unflagged) unflagged),"
            + " \(audit.flagged) flagged, \(audit.unknown) unknown, \(replayed.count) replayed\(recovery)"
            + String(format: ", %.0f s", seconds)
    }
}
