/// Decides how a worker learns that a quiet project has work again; see ``ClaimPlan/isQuiet``.
///
/// A claim costs Redis some forty commands, so that a worker with a thousand quiet projects cannot make one for each of
/// them many times a second. It counts keys instead that exist only while a project has something to do: one command for
/// many projects. A group in which a key exists is asked for project by project, and a project in which one exists claims.
///
/// ```
///        due                      counted, each
/// idle ───────► counting a group ───────────────► idle
///                 │          ▲
///                 └──────────┘ counted: a key exists, each of its projects is counted
/// ```
public struct QuietPlan: Sendable {
    /// What is counted.
    public enum Sign: Equatable, Sendable {
        /// The keys of open jobs, of an operator's pause, and of a step that failed.
        case keys
        /// Entries of `jobs`: one that a dead or slow reader left has no open job yet.
        case entries
    }

    public enum Event: Equatable, Sendable {
        /// Comes five times a second.
        ///
        /// - Parameter quiet: the projects that are quiet now.
        case due(quiet: [String])
        /// - Parameter count: nil when Redis refused to count.
        case counted(Sign, [String], count: Int64?)
        case disconnected
    }

    public enum Action: Equatable, Sendable {
        case count(Sign, [String])
        case claim(String)
    }

    /// Projects whose keys are counted by one command: when one of them has work, all of them are counted once more.
    static let groupSize = 32
    /// Turns in which each of many projects is counted once: within a second, with the time of an answer.
    static let maximumParts = 4

    /// Entries are counted at each such event: once in half a lease.
    private let entriesEvery: Int
    private var turn = 0
    /// Counts without an answer.
    private var unanswered = 0

    /// - Parameters:
    ///   - leaseMs: of a worker; see ``ReclaimPlan``.
    ///   - everyMs: time between two events `due`.
    public init(leaseMs: Int64, everyMs: Int64) { entriesEvery = max(1, Int(leaseMs / 2 / max(1, everyMs))) }

    public mutating func handle(_ event: Event, into actions: inout [Action]) {
        switch event {
        case .due(let quiet):
            guard unanswered == 0 else { return }
            turn += 1
            let parts = min(Self.maximumParts, (quiet.count + Self.groupSize - 1) / Self.groupSize)
            let counted = parts < 2 ? quiet : quiet.filter { Self.part(of: $0, parts) == turn % parts }
            for start in stride(from: 0, to: counted.count, by: Self.groupSize) {
                count(.keys, Array(counted[start..<min(start + Self.groupSize, counted.count)]), &actions)
            }
            guard turn.isMultiple(of: entriesEvery) else { return }
            for project in quiet { count(.entries, [project], &actions) }
            // The memory of Redis is every project's, and a claim measures it.
            if let first = quiet.first { actions.append(.claim(first)) }
        case .counted(let sign, let projects, let count):
            unanswered = max(0, unanswered - 1)
            // Redis may refuse a command to a worker that it allows to claim.
            guard count != 0 else { return }
            if projects.count == 1 || count == nil { return actions += projects.map(Action.claim) }
            for project in projects { self.count(sign, [project], &actions) }
        case .disconnected: unanswered = 0
        }
    }

    /// The turn of a project, which the other quiet projects do not change.
    private static func part(of project: String, _ parts: Int) -> Int {
        Int(UInt(bitPattern: project.hashValue) % UInt(parts))
    }

    private mutating func count(_ sign: Sign, _ projects: [String], _ actions: inout [Action]) {
        unanswered += 1
        actions.append(.count(sign, projects))
    }
}
