internal import StreamWire

/// What the whole fleet is doing, project by project, as read within a few milliseconds.
///
/// `sent` in it means accepted by FCM: not delivered, and not shown to anybody.
public struct FleetSnapshot: Equatable, Sendable {
    /// Redis TIME in Unix milliseconds; 0 when there is no project to ask.
    public var nowMs: Int64
    /// In the order of their ids.
    public var projects: [ProjectSnapshot]
    /// In the order of their names.
    public var workers: [WorkerSnapshot]

    /// - Parameter projects: workers are put together from what each project says of them.
    public init(projects: [ProjectSnapshot]) {
        self.projects = projects.sorted { $0.id < $1.id }
        nowMs = projects.map(\.overview.nowMs).max() ?? 0
        workers = WorkerSnapshot.processes(of: self.projects)
    }

    /// Workers that are alive.
    public var workersAlive: Int { workers.filter(\.isAlive).count }

    public subscript(project: String) -> ProjectSnapshot? { projects.first { $0.id == project } }
}
