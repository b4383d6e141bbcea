internal import FanfareJSON

/// What a worker says of itself.
public struct WorkerRegistration: Equatable, Sendable {
    public var version: String
    public var host: String
    public var pid: Int64
    /// Unix milliseconds.
    public var startedMs: Int64
    /// Silent for longer than this, it is taken for dead.
    public var leaseMs: Int64
    /// Sends under way in the project that it was said in.
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

/// A worker's hold on one project.
public struct WorkerLease: Equatable, Sendable {
    /// `<worker>.<part of the process's own>.<how often it has started over>`.
    public var name: String
    /// Since it was renewed; nil when the worker has said nothing yet.
    public var silentMs: Int64?
    public var batches: Int64
    /// nil when it has said nothing yet, or is of an older version.
    public var card: WorkerRegistration?

    /// False when it has been silent for longer than its lease: somebody will take over what it holds.
    public var isAlive: Bool {
        guard let silentMs, let card, card.leaseMs > 0 else { return true }
        return silentMs <= card.leaseMs
    }

    /// The name without the part that counts.
    var process: String { name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name }
}

/// One worker process and the projects that it works for.
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
    /// Since it was heard of in any project; nil when it has said nothing yet.
    public var silentMs: Int64? { projects.compactMap(\.lease.silentMs).min() }

    static func processes(of projects: [ProjectSnapshot]) -> [WorkerSnapshot] {
        var byName: [String: WorkerSnapshot] = [:]
        for project in projects {
            for lease in project.leases {
                let name = lease.process
                byName[name, default: WorkerSnapshot(name: name, projects: [])].projects.append(
                    Project(id: project.id, lease: lease)
                )
            }
        }
        return byName.values.sorted { $0.name < $1.name }
    }
}
