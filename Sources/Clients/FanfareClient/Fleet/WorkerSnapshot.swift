internal import FanfareJSON

public struct WorkerRegistration: Equatable, Sendable {
    public var version: String
    public var host: String
    public var pid: Int64
    /// Unix milliseconds.
    public var startedMs: Int64
    /// A worker that is silent for longer is declared dead.
    public var leaseMs: Int64
    /// Sends in flight in the project of the lease.
    public var inFlight: Int64

    init?(_ text: String) {
        guard let value = try? JSONParser.parse(Array(text.utf8), limits: JSONLimits()), let card = value.object else {
            return nil
        }
        func number(_ name: String) -> Int64 { min(99_999_999_999_999, max(0, card[name]?.number?.int64 ?? 0)) }
        version = card["version"]?.string ?? ""
        host = card["host"]?.string ?? ""
        pid = number("pid")
        startedMs = number("started_ms")
        leaseMs = number("lease_ms")
        inFlight = number("in_flight")
    }
}

public struct WorkerLease: Equatable, Sendable {
    /// `<worker>.<random part of the process>.<number of its registrations>`.
    public var name: String
    /// Milliseconds since the lease was renewed; nil before the first renewal.
    public var silentMs: Int64?
    public var batches: Int64
    /// nil before the first renewal, and for an older version.
    public var card: WorkerRegistration?

    /// False if it was silent for longer than its lease: other workers will take over its batches.
    public var isAlive: Bool {
        guard let silentMs, let card, card.leaseMs > 0 else { return true }
        return silentMs <= card.leaseMs
    }

    /// The name without the number of registrations.
    var process: String { name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name }
}

/// A worker process and the projects that it serves.
public struct WorkerSnapshot: Equatable, Sendable {
    public struct Project: Equatable, Sendable {
        public var id: String
        public var lease: WorkerLease
    }

    public var name: String
    public var projects: [Project]

    public var card: WorkerRegistration? { projects.lazy.compactMap(\.lease.card).first }
    public var isAlive: Bool { projects.contains { $0.lease.isAlive } }
    public var inFlight: Int64 { projects.reduce(0) { $0 + ($1.lease.card?.inFlight ?? 0) } }
    public var batches: Int64 { projects.reduce(0) { $0 + $1.lease.batches } }
    /// Milliseconds since its last renewal in any project; nil before the first one.
    public var silentMs: Int64? { projects.compactMap(\.lease.silentMs).min() }

    static func processes(of projects: [ProjectSnapshot]) -> [WorkerSnapshot] {
        let leases = projects.flatMap { project in project.leases.map { Project(id: project.id, lease: $0) } }
        return Dictionary(grouping: leases, by: \.lease.process)
            .map { WorkerSnapshot(name: $0.key, projects: $0.value) }
            .sorted { $0.name < $1.name }
    }
}
