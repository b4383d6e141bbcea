/// A batch in a worker's hands: what is left to send, what is under way, and what has been reported.
final class HeldBatch {
    let name: BatchName
    let epoch: UInt64
    let kind: JobClass
    private let indexes: [Int]
    private(set) var histories: [History]
    private var isClosedAt: [Bool]
    /// Positions to send, in order, and those that an earlier worker may have sent.
    private var todo: [Int] = []
    private var head = 0
    private var again: [Int] = []
    private var doubtful: [Int] = []
    private var unsentTimes: [Int: Int] = [:]

    var authorised: Int
    var requested: Int
    private(set) var open = 0
    var inFlight = 0
    var calls = 0
    var unanswered = 0
    var isFenced = false
    var isClosed = false
    var isDirty = false
    var isSentReported = false
    /// Its job was paused or parked: nothing more is sent, and what is left goes back.
    var isStopped = false
    var isReleasing = false
    var isReleased = false
    var ending: Letter
    var pending = Pending()
    /// What was handed in, until the batch is closed.
    var handedIn = Pending()

    struct Pending {
        var results: [RecordRequest.Result] = []
        var retries: [RecordRequest.Retry] = []
        var upto: Int?
        var holdMs: Int64 = 0
        var isSent = false
        var count: Int { results.count + retries.count }
    }

    init(_ given: Given, kind: JobClass) {
        name = given.name
        epoch = given.epoch
        self.kind = kind
        indexes = given.indexes
        histories = given.histories
        isClosedAt = given.fates.map { $0 == .finished }
        authorised = given.upto
        requested = given.upto
        ending = given.ending
        for (position, fate) in given.fates.enumerated() where fate != .finished {
            open += 1
            if fate == .unsent { todo.append(position) } else { doubtful.append(position) }
            // The holder before the last may have sent it, and the last one as well.
            if fate == .maybeSent, given.deliveries > 2 { histories[position].isMaybeDuplicate = true }
        }
    }

    var count: Int { indexes.count }
    func index(_ position: Int) -> Int { indexes[position] }
    func position(of index: Int) -> Int? { indexes.firstIndex(of: index) }
    func isMaybeDuplicate(_ index: Int) -> Bool { position(of: index).map { histories[$0].isMaybeDuplicate } ?? false }
    var isFanout: Bool { kind.takesTurns }

    /// What could be sent if there were leave.
    var unsentCount: Int { todo.count - head + again.count }
    var hasUnsent: Bool { head < todo.count || !again.isEmpty }
    var hasDoubtful: Bool { !doubtful.isEmpty }

    func next() -> Int? {
        if let position = again.popLast() { return position }
        guard head < todo.count, todo[head] < authorised else { return nil }
        head += 1
        return todo[head - 1]
    }

    func putBack(_ position: Int) { again.append(position) }

    /// False when that has happened too often.
    func sendUnsentAgain(_ position: Int) -> Bool {
        guard unsentTimes[position, default: 0] < 3 else { return false }
        unsentTimes[position, default: 0] += 1
        again.append(position)
        return true
    }

    func takeAll() -> [Int] {
        defer {
            head = todo.count
            again = []
        }
        return again + todo[head...]
    }

    func takeDoubtful() -> [Int] {
        defer { doubtful = [] }
        return doubtful
    }

    /// Positions below the watermark that were never sent: another worker would have to take them for doubtful.
    func takeUnsentBelowWatermark() -> [Int] {
        let end = todo[head...].firstIndex { $0 >= requested } ?? todo.count
        defer {
            head = end
            again = []
        }
        return again + todo[head..<end]
    }

    func note(_ position: Int, _ history: History) { histories[position] = history }

    func close(_ position: Int) -> Bool {
        guard !isClosedAt[position] else { return false }
        isClosedAt[position] = true
        open -= 1
        return true
    }

    func watermarkToRequest(window: Int) -> Int? {
        guard !isFenced, !isStopped, requested < count, head < todo.count else { return nil }
        let next = todo[head]
        guard requested - next < window / 2 || next >= requested else { return nil }
        return min(count, max(requested, next) + window)
    }

    var isOver: Bool {
        guard unanswered == 0, !isDirty, inFlight == 0 else { return false }
        return isFenced || isReleased || (open == 0 && isClosed)
    }
}
