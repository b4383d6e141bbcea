/// Decides which project of this process runs a batch while nothing else runs: a batch that took its workers down must
/// not take others' recipients with it. Projects that ask at the same time are served in turn.
///
/// ```
///                  enter                     all others quiet
/// open to all ───────────────► closed to all ─────────────────► open to the holder
///      ▲                             ▲                                │ leave
///      └───── no project waits ──────┴────── another waits ───────────┘
/// ```
public struct QuarantineGate: Sendable {
    public enum Event: Equatable, Sendable {
        /// The project has a batch that has to run alone.
        case enter(String)
        /// The project has no batch left that has to run alone.
        case leave(String)
        /// The project has nothing in flight: no request and no result that is not written. Reported only while
        /// ``isAwaited``, at the end of each turn of the loop.
        case quiet(String)
        case busy(String)
    }

    /// The project that runs alone now.
    public private(set) var holder: String?
    private var waiting: [String] = []
    private var projects: Set<String>
    /// Projects that were quiet when they last reported, since the first project began to wait.
    private var quiet: Set<String> = []

    public init(projects: [String]) { self.projects = Set(projects) }

    /// A project waits until the others are quiet.
    public var isAwaited: Bool { holder == nil && !waiting.isEmpty }

    /// The project may begin something new.
    public func admits(_ project: String) -> Bool { holder == project || (holder == nil && waiting.isEmpty) }

    /// - Returns: the project that runs alone from now on, a holder that enters again included; nil if none begins.
    public mutating func handle(_ event: Event) -> String? {
        switch event {
        // The holder leaves only when it holds nothing: its second batch would wait for itself.
        case .enter(let project) where holder == project: return project
        case .enter(let project): if !waiting.contains(project) { waiting.append(project) }
        case .leave(let project):
            waiting.removeAll { $0 == project }
            if holder == project { holder = nil }
            if waiting.isEmpty { quiet = [] }
        case .quiet(let project): quiet.insert(project)
        case .busy(let project): quiet.remove(project)
        }
        return beginNext()
    }

    /// The process serves one more project.
    public mutating func add(_ project: String) { projects.insert(project) }

    /// The process serves the project no longer.
    ///
    /// - Returns: the project that runs alone from now on, because the others did not wait for any but the removed one.
    public mutating func remove(_ project: String) -> String? {
        projects.remove(project)
        quiet.remove(project)
        waiting.removeAll { $0 == project }
        if holder == project { holder = nil }
        return beginNext()
    }

    private mutating func beginNext() -> String? {
        guard holder == nil, let next = waiting.first, projects.subtracting([next]).isSubset(of: quiet) else {
            return nil
        }
        waiting.removeFirst()
        holder = next
        quiet = []
        return next
    }
}
