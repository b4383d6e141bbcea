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
    static let leaseMs = 1_500
    static var leaseSeconds: Double { Double(leaseMs) / 1_000 }

    let rig: Rig
    let load: ChaosLoad
    let configuration: String
    private let environment: [String: String]
    var random: SeededGenerator
    /// Those that should be alive, by name.
    private(set) var fleet: [(name: String, process: ChildProcess)] = []
    private var everyone: [ChildProcess] = []
    private var deaths: [(name: String, at: Date)] = []
    private var pushed = 0
    var harms = 0
    var recoveries: [Double] = []

    init(rig: Rig, load: ChaosLoad, configuration: String, environment: [String: String], seed: UInt64) {
        self.rig = rig
        self.load = load
        self.configuration = configuration
        self.environment = environment
        random = SeededGenerator(seed: seed)
    }

    /// What one worker can have under way: a send whose answer is known, but not yet written, has left its place to
    /// another, hence the tenth.
    var mostInFlight: Int { Self.inFlight * Self.projects.count * 11 / 10 }

    func hire(_ count: Int = 1) async throws {
        for _ in 0..<count {
            let name = "chaos-" + String(everyone.count + 1_000)
            let process = try await rig.startWorker(configuration, ["--name", name], environment: environment)
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

    /// Pushes the round's part of the load and returns in the midst of its sends, so that every harm finds work under
    /// way and more of it waiting.
    func begin(_ round: Int) async throws {
        let part = load.jobs.filter { $0.round == round }
        let recipients = part.reduce(0) { $0 + $1.tokens.count }
        let goal = try await rig.stats().sends + Int(Double(recipients) * draw(0.1...0.5))
        try await load.push(part, through: rig)
        pushed += recipients
        try await Wait.until("\(goal) sends\n\(rig.logs)", seconds: ChaosScale.patienceSeconds, everyMs: 30) {
            try await rig.stats().sends >= goal
        }
    }

    /// Measures from `since` until another result is written. Without work left to write one soon, nothing is measured.
    func recover(since: ContinuousClock.Instant) async throws {
        guard try await rig.stats().sends < pushed else { return }
        var before: Int64?
        try await Wait.until("results to go on\n\(rig.logs)", seconds: 60) {
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

    /// Jobs whose batch happened to be in the hands of four victims in a row. A kill from outside looks like poison, and
    /// needs the person that poison needs.
    private(set) var replayed: Set<String> = []

    private func replayParked(_ id: String, in project: String) async throws {
        guard replayed.insert("\(project)/\(id)").inserted else { return }
        try await rig.fanfare(configuration, ["dead", "replay", "--all", "--kind", "parked"], in: project)
    }

    /// Waits for the last result.
    func finish() async throws {
        var open: [String] = []
        try await Wait.until("\(open) to be over\n\(rig.logs)", seconds: ChaosScale.patienceSeconds, everyMs: 200) {
            open = []
            for job in load.jobs where open.isEmpty {
                let hash = (try? await rig.job(job.id, in: job.project)) ?? [:]
                if hash["state"] == "parked" { try await replayParked(job.id, in: job.project) }
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
            process.stderr.split(separator: "\n").filter {
                $0.contains("A worker was declared dead") && $0.contains(name)
            }
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
            + " \(audit.flagged) flagged, \(audit.unknown) unknown, \(replayed.count) replayed\(recovery)"
            + String(format: ", %.0f s", seconds)
    }
}
