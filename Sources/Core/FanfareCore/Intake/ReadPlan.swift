internal import StreamWire

/// Decides which job streams a worker reads next, from which entry on, how many entries, and how long the read blocks.
///
/// ```
///                 connected                  read
/// disconnected ─────────────► idle ───────────────────────► reading
///       ▲                      │ ▲                           │  │
///       └── disconnected ──────┘ └── answered, failed ───────┘  │        stopped, from anywhere
///       ▲                                                       │
///       └──────────────────────── disconnected ─────────────────┘
/// ```
///
/// A stream's pending entries come first: the entries that Redis delivered to this consumer and that may not have been
/// handed over. They are read page by page after each connection and whenever entries are left over. Then follow new
/// entries.
public struct ReadPlan: Sendable {
    /// Entries that were delivered to this consumer and have to be read again.
    public enum Leftovers: Equatable, Sendable {
        case none
        case later
        /// The entries are due, but some of them may be in flight: nothing else is read.
        case due
        case readable
    }

    /// The reads that one project allows now.
    public struct Demand: Equatable, Sendable {
        /// Entries that may be read; 0 unless the stream's group exists and the worker is registered.
        public var room: Int
        /// There is no room, but there will be when entries in flight are handed over.
        public var isFull = false
        public var leftovers = Leftovers.none
        /// Entries of dead consumers are being taken over.
        public var isReclaiming = false
        /// Whether the project is quiet; see ``ClaimPlan/isQuiet``.
        public var isQuiet = false
        /// Whether the place has no project.
        public var isAbsent = false
        /// Whether another reader of the same worker reads the stream; see ``ReadSplit``.
        public var isElsewhere = false

        /// The demand of a place whose project was removed.
        public static let none = Demand(room: 0, isAbsent: true)
        public static let elsewhere = Demand(room: 0, isAbsent: true, isElsewhere: true)
    }

    /// One read. Streams are named by their position among the projects.
    public struct Read: Equatable, Sendable {
        public var streams: [Int]
        /// Entries of each stream at most.
        public var count: Int
        /// nil for a read that answers at once.
        public var blockMs: Int64?
        /// Reads pending entries after this one; nil for new entries.
        public var after: String?

        /// Entries that the answer may hold.
        public var maximumEntries: Int { count * streams.count }
    }

    public struct Answer: Equatable, Sendable {
        /// Bytes of the largest entry of each stream that was read, in the read's order; 0 where there was none.
        public var largest: [Int]
        /// The last pending entry that the answer names, also where it is deleted; nil when it names none.
        public var last: String?
        public var isEmpty: Bool

        public init(largest: [Int], last: String? = nil, isEmpty: Bool) {
            self.largest = largest
            self.last = last
            self.isEmpty = isEmpty
        }
    }

    public enum Failure: Sendable {
        /// A stream or its group was deleted.
        case groupMissing
        case answerTooLarge
        case other
    }

    /// `[Demand]` is the demand of each project now, in their order.
    public enum Event: Sendable {
        case connected([Demand])
        case disconnected
        case stopped
        /// There may be room now.
        case ready([Demand])
        /// The time of the last ``Action/wait(ms:)`` is over.
        case waited([Demand])
        /// The entries have been received.
        case answered(Answer, [Demand])
        case failed(Failure)
    }

    public enum Action: Equatable, Sendable {
        case read(Read)
        /// At most one wait lasts at any time.
        case wait(ms: Int64)
        /// The stream's leftovers are read from now on.
        case rereadLeftovers(Int)
        case createGroups([Int])
    }

    private struct Stream {
        /// Counts the projects that had this place: an answer to a read for an earlier one says nothing about this one.
        var generation = 0
        var sizer = ReadSizer()
        /// Whether the read in flight is of this stream, too.
        var isInRead = false
        /// All pending entries have been read.
        var isRecovered = false
        /// The last pending entry that was read; nil before the first page.
        var page: String?
        /// Where reading of pending entries continues after the first page was read again.
        var resumesAfter: String?

        mutating func recoverFromStart() { (isRecovered, page, resumesAfter) = (false, nil, nil) }

        /// Reads the first page once more and then continues where reading was. A page that always fails keeps back
        /// neither the pages after it nor new entries.
        mutating func rereadFirstPage() { (isRecovered, resumesAfter, page) = (false, page, nil) }

        /// - Parameter last: the last entry of the page; nil when the page was empty.
        mutating func recovered(to last: String?) {
            page = last.map { last in
                resumesAfter.map { StreamEntry.isLater($0, than: last) ? $0 : last } ?? last
            }
            resumesAfter = nil
            if last == nil { isRecovered = true }
        }
    }

    public static let blockMs: Int64 = 500
    /// While every project is quiet and is read: at each end of a read Redis looks at every stream.
    public static let quietBlockMs: Int64 = 1_000
    /// While entries are being taken over or are left over, which has to be noticed soon.
    public static let shortBlockMs: Int64 = 20
    /// Of streams in which nothing has happened for a while.
    public static let sleepBlockMs: Int64 = 4_000
    /// Of the streams that sleep, as many may give entries in one read before they are read in parts again. Parts of a
    /// thousand streams cost Redis, for each entry, more than its push.
    private static let fewAwake = 8
    private static let pauseMs: Int64 = 20
    /// While other readers read every stream.
    private static let elsewherePauseMs: Int64 = 500
    private static let failurePauseMs: Int64 = 200

    private let isSleeper: Bool
    private var streams: [Stream]
    private var isConnected = false
    private var isStopped = false
    private var isWaiting = false
    private var reading: Read?
    /// The generations of the streams that are being read.
    private var generations: [Int] = []
    /// Whose turn it is while entries may be too large to read all streams at once.
    private var turn = 0
    /// Streams in a row of which none, or few that sleep, had entries.
    private var emptyInARow = 0
    /// The streams that gave entries in the last read of all that sleep.
    private var newestGivers: Set<Int> = []
    /// The last read of all streams found nothing, and no later read found anything.
    public private(set) var foundNothing = false

    /// A read may begin.
    public var isIdle: Bool { isConnected && !isStopped && reading == nil }

    /// - Parameter isSleeper: whether this plan is for the streams that sleep, whose pending entries another one reads.
    public init(streams count: Int, isSleeper: Bool = false) {
        self.isSleeper = isSleeper
        streams = Array(repeating: Stream(isRecovered: isSleeper), count: count)
    }

    /// Adds a stream after the others.
    public mutating func addStream() { streams.append(Stream(isRecovered: isSleeper)) }

    /// Whether the read in flight is of a stream.
    public func isReading(_ index: Int) -> Bool { streams.indices.contains(index) && streams[index].isInRead }

    /// Whether the entries of a stream that were pending have been read.
    public func isRecovered(_ index: Int) -> Bool { streams.indices.contains(index) && streams[index].isRecovered }

    /// Reads a stream's pending entries again: entries that Redis delivered to this consumer were lost.
    public mutating func recover(stream index: Int) {
        if streams.indices.contains(index) { streams[index].recoverFromStart() }
    }

    /// Another project has the stream's place now, or the same project again. Its pending entries are read first.
    public mutating func restart(stream index: Int) {
        guard streams.indices.contains(index) else { return }
        let old = streams[index]
        // A read in flight is of the project that had the place before.
        streams[index] = Stream(generation: old.generation + 1, isRecovered: isSleeper)
        foundNothing = false
    }

    public mutating func handle(_ event: Event, into actions: inout [Action]) {
        switch event {
        case .connected(let demands):
            // The last answer may have been lost with the connection; its entries are pending.
            for index in streams.indices where !isSleeper { streams[index].recoverFromStart() }
            endRead()
            (isConnected, reading, foundNothing, emptyInARow) = (true, nil, false, 0)
            choose(demands, &actions)
        case .disconnected:
            isConnected = false
            endRead()
        case .stopped: isStopped = true
        case .ready(let demands): choose(demands, &actions)
        case .waited(let demands):
            isWaiting = false
            choose(demands, &actions)
        case .answered(let answer, let demands):
            guard let read = reading else { return }
            reading = nil
            endRead()
            if apply(answer, of: read) { wait(Self.pauseMs, &actions) } else { choose(demands, &actions) }
        case .failed(let failure):
            guard let read = reading else { return }
            reading = nil
            endRead()
            switch failure {
            case .groupMissing: actions.append(.createGroups(read.streams))
            case .answerTooLarge: for index in read.streams { streams[index].sizer.answerWasTooLarge() }
            case .other: break
            }
            wait(Self.failurePauseMs, &actions)
        }
    }

    private mutating func endRead() { for index in streams.indices { streams[index].isInRead = false } }

    /// - Returns: whether the same read would find nothing again.
    private mutating func apply(_ answer: Answer, of read: Read) -> Bool {
        // The entries of a stream that was restarted were dropped. They are pending.
        guard generations == read.streams.map({ streams[$0].generation }) else { return false }
        for (index, largest) in zip(read.streams, answer.largest) { streams[index].sizer.received(largest: largest) }
        if read.after != nil {
            streams[read.streams[0]].recovered(to: answer.last)
            return false
        }
        let givers = zip(read.streams, answer.largest).filter { $1 > 0 }.map(\.0)
        // A stream that gives again has more, which a read of all would bring one by one.
        let isFew = givers.count <= Self.fewAwake && newestGivers.isDisjoint(with: givers)
        let isWhole = isSleeper && read.blockMs != nil
        newestGivers = isWhole ? Set(givers) : []
        emptyInARow = givers.isEmpty || (isWhole && isFew) ? emptyInARow + read.streams.count : 0
        if read.blockMs != nil || !answer.isEmpty { foundNothing = answer.isEmpty }
        return answer.isEmpty && read.blockMs == nil && emptyInARow >= read.streams.count + streams.count
    }

    private mutating func choose(_ demands: [Demand], _ actions: inout [Action]) {
        guard isIdle else { return }
        var demands = demands
        for index in streams.indices where demands[index].leftovers == .readable && demands[index].room > 0 {
            streams[index].rereadFirstPage()
            demands[index].leftovers = .none
            actions.append(.rereadLeftovers(index))
        }
        if let index = streams.indices.first(where: { !streams[$0].isRecovered && demands[$0].room > 0 }) {
            foundNothing = false
            let after = streams[index].page ?? "0"
            return read([index], demands, blockMs: nil, after: after, &actions)
        }
        let ready = streams.indices.filter { demands[$0].room > 0 && demands[$0].leftovers != .due }
        guard !ready.isEmpty else {
            let isElsewhere = demands.contains(where: \.isElsewhere) && demands.allSatisfy(\.isAbsent)
            // Without a stream of its own there is nothing to find.
            if isElsewhere { foundNothing = true }
            return wait(isElsewhere ? Self.elsewherePauseMs : Self.pauseMs, &actions)
        }
        turn %= ready.count
        let inTurn = Array(ready[turn...] + ready[..<turn])
        let most = ReadSizer.streams(inTurn.map { streams[$0].sizer })
        // Once nothing waits, or little in streams that sleep, one read blocks on all streams: the first push ends it.
        guard most < ready.count, emptyInARow < ready.count else {
            return read(ready, demands, blockMs: blockMs(demands), after: nil, &actions)
        }
        turn += most
        read(Array(inTurn[..<most]), demands, blockMs: nil, after: nil, &actions)
    }

    private func blockMs(_ demands: [Demand]) -> Int64? {
        // A full project has room in a moment, and its entries would wait for the entries of others.
        if demands.contains(where: \.isFull) { return nil }
        let isAwaited = demands.contains { $0.isReclaiming || $0.leftovers != .none }
        if isAwaited { return Self.shortBlockMs }
        let isQuiet = demands.allSatisfy { $0.isAbsent || ($0.isQuiet && $0.room > 0) }
        if isSleeper { return Self.sleepBlockMs }
        return foundNothing && isQuiet ? Self.quietBlockMs : Self.blockMs
    }

    private mutating func read(
        _ indices: [Int],
        _ demands: [Demand],
        blockMs: Int64?,
        after: String?,
        _ actions: inout [Action]
    ) {
        let room = indices.map { demands[$0].room }.min() ?? 1
        let count = min(ReadSizer.count(indices.map { streams[$0].sizer }), room)
        let read = Read(streams: indices, count: count, blockMs: blockMs, after: after)
        reading = read
        for index in indices { streams[index].isInRead = true }
        generations = indices.map { streams[$0].generation }
        actions.append(.read(read))
    }

    private mutating func wait(_ milliseconds: Int64, _ actions: inout [Action]) {
        guard !isWaiting else { return }
        isWaiting = true
        actions.append(.wait(ms: milliseconds))
    }
}
