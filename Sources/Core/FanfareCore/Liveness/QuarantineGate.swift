public import StreamWire

/// Decides which project of this process runs a quarantined batch, and whether other projects send beside it. Projects
/// that ask at the same time are served in turn.
///
/// ```
///                enter(shared)
///        ┌──────────────────────────► held: all send, one project runs a quarantined batch
///        │                                │ leave
/// open to all ◄───────────────────────────┤
///        │                                │ leave
///        └──► closed to all ──────────► held: only the holder sends
///  enter(exclusive)   all others quiet
/// ```
/// A death beside other projects proves nothing against the batch. A death in an exclusive quarantine does: nothing else
/// of the process was in flight.
public struct QuarantineGate: Sendable {
    public enum Event: Equatable, Sendable {
        /// The project has a batch to run in this mode.
        case enter(String, QuarantineMode)
        /// The project has no quarantined batch left.
        case leave(String)
        /// The project has nothing in flight: no request and no result that is not written. Reported only while
        /// ``isAwaited``, at the end of each turn of the loop.
        case quiet(String)
        case busy(String)
    }

    /// A project that runs a quarantined batch, or waits to.
    public struct Stay: Equatable, Sendable {
        public let project: String
        public var mode: QuarantineMode

        public init(_ project: String, _ mode: QuarantineMode) {
            self.project = project
            self.mode = mode
        }
    }

    /// The project that runs a quarantined batch now.
    public private(set) var holder: Stay?
    private var waiting: [Stay] = []
    private var projects: Set<String>
    /// Projects that were quiet when they last reported, since the first project began to wait.
    private var quiet: Set<String> = []

    public init(projects: [String]) { self.projects = Set(projects) }

    /// A project waits until the others are quiet.
    public var isAwaited: Bool { holder == nil && !waiting.isEmpty }

    /// One project sends, and no other.
    public var isExclusive: Bool { holder?.mode == .exclusive }

    /// The project may begin something new.
    public func admits(_ project: String) -> Bool {
        guard let holder else { return waiting.isEmpty }
        return holder.mode == .shared || holder.project == project
    }

    /// - Returns: the project that begins now, a holder that enters again included; nil if none begins.
    public mutating func handle(_ event: Event) -> Stay? {
        switch event {
        // The holder leaves only when it holds nothing: its second batch would wait for itself.
        case .enter(let project, _) where holder?.project == project: return holder
        case .enter(let project, let mode):
            if let place = waiting.firstIndex(where: { $0.project == project }) {
                waiting[place].mode = mode
            } else {
                waiting.append(Stay(project, mode))
            }
        case .leave(let project): leave(project)
        case .quiet(let project): quiet.insert(project)
        case .busy(let project): quiet.remove(project)
        }
        return beginNext()
    }

    /// The process serves one more project.
    public mutating func add(_ project: String) { projects.insert(project) }

    /// The process serves the project no longer.
    ///
    /// - Returns: the project that begins now, because the others did not wait for any but the removed one.
    public mutating func remove(_ project: String) -> Stay? {
        projects.remove(project)
        quiet.remove(project)
        leave(project)
        return beginNext()
    }

    private mutating func leave(_ project: String) {
        waiting.removeAll { $0.project == project }
        if holder?.project == project { holder = nil }
        if waiting.isEmpty { quiet = [] }
    }

    /// A process with a single project has nothing else in flight in either mode.
    private mutating func beginNext() -> Stay? {
        guard holder == nil, var next = waiting.first else { return nil }
        let others = projects.subtracting([next.project])
        guard next.mode == .shared || others.isSubset(of: quiet) else { return nil }
        if others.isEmpty { next.mode = .exclusive }
        waiting.removeFirst()
        holder = next
        quiet = []
        return next
    }
}
