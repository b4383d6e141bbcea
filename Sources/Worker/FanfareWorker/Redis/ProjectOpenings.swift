/// Opens the projects of a server on a new connection, some at a time. All at once, the calls of a thousand projects would
/// keep Redis busy for longer than an answer may take, and each worker would connect again and again.
struct ProjectOpenings {
    private var waiting: ArraySlice<ProjectRunner>
    /// Opened last.
    private var group: ArraySlice<ProjectRunner>
    private var groupEndsNs: UInt64 = 0
    private let isSameServer: Bool

    /// Time between two calls of ``openNext(now:)``, in milliseconds.
    static let everyMs: Int64 = 20
    private static let groupSize = 50
    /// A project that Redis refuses holds no other one up for longer.
    private static let patienceNs: UInt64 = 2_000_000_000

    /// Opens the projects of which this worker holds batches or unwritten results, and the first of the others. Another
    /// worker may claim what a new primary has forgotten, so their results cannot wait.
    init(_ runners: [ProjectRunner], isSameServer: Bool, now: UInt64) {
        self.isSameServer = isSameServer
        let busy = runners.filter { !$0.isEmptyHanded(isSameServer: isSameServer) }
        waiting = runners.filter { $0.isEmptyHanded(isSameServer: isSameServer) }[...]
        group = busy[...]
        for runner in busy { runner.connected(isSameServer: isSameServer) }
        if busy.isEmpty { openNext(now: now) } else { groupEndsNs = now + Self.patienceNs }
    }

    var isDone: Bool { waiting.isEmpty }

    mutating func openNext(now: UInt64) {
        guard !waiting.isEmpty, now >= groupEndsNs || group.allSatisfy(\.isOpened) else { return }
        let first = waiting.startIndex
        group = waiting.prefix(Self.groupSize)
        waiting = waiting.dropFirst(Self.groupSize)
        groupEndsNs = now + Self.patienceNs
        for (place, runner) in zip(first..., group) { runner.connected(isSameServer: isSameServer, place: place) }
    }
}
