internal import StreamWire

/// The state of all projects, read within a few milliseconds.
///
/// `sent` means accepted by FCM, not delivered and not shown.
public struct FleetSnapshot: Equatable, Sendable {
    /// Redis TIME in Unix milliseconds; 0 without a project.
    public var nowMs: Int64
    /// In the order of their ids.
    public var projects: [ProjectSnapshot]
    /// In the order of their names.
    public var workers: [WorkerSnapshot]

    public init(projects: [ProjectSnapshot]) {
        self.projects = projects.sorted { $0.id < $1.id }
        nowMs = projects.map(\.overview.nowMs).max() ?? 0
        workers = WorkerSnapshot.processes(of: self.projects)
    }

    public var workersAlive: Int { workers.filter(\.isAlive).count }

    public subscript(project: String) -> ProjectSnapshot? { projects.first { $0.id == project } }
}
