internal import EventLoop
internal import FanfareModel

/// The pools of one loop, and what they share: memory for answers, and open files. Loop-confined.
public final class PoolGroup {
    /// Bytes that unfinished answers of the pools of a worker take together. With a thousand of them libcurl takes about
    /// 90 MB more.
    public static let maximumAnswerBytes = 32 << 20
    /// Files that are left to the rest of the process: Redis, name look-ups, files that are read again.
    static let reservedFiles = 16
    /// Files that a lane needs while it is opened: its socket, and a name look-up.
    private static let filesOfOpening = 3
    /// How long a lane may take to its socket before the count of open files shows it, in milliseconds.
    private static let openingMs: Int64 = 100
    /// How often a pool that waits for a file has the open files counted, in milliseconds.
    private static let recheckMs: Int64 = 10

    private(set) var answers: AnswerBudget
    private let fileLimit: Int?
    private let fileRoom: () -> Int?
    private var pools: [Int: Member] = [:]
    /// The lanes of all pools, by their numbers in the group.
    private var lanes: [Int: Int] = [:]
    private var nextNumber = 0
    /// The pools that wait for a file, by their numbers.
    private var waits: [Int: Wait] = [:]

    private struct Member { unowned let pool: LanePool }

    private struct Wait {
        /// The lane that is being closed for the pool; nil if none may be closed yet.
        var lane: Int?
        var checkedAtMs: Int64
    }

    public convenience init() {
        self.init(maximumAnswerBytes: Self.maximumAnswerBytes, fileLimit: OpenFiles.limit) { OpenFiles.room }
    }

    /// - Parameters:
    ///   - fileLimit: open files that the process may have; nil for no limit.
    ///   - fileRoom: counts how many more it may open; nil if that is not known.
    package init(maximumAnswerBytes: Int, fileLimit: Int? = nil, fileRoom: @escaping () -> Int? = { nil }) {
        answers = AnswerBudget(maximumBytes: maximumAnswerBytes)
        self.fileLimit = fileLimit
        self.fileRoom = fileRoom
    }

    /// - Returns: the pool's number.
    func join(_ pool: LanePool) -> Int {
        nextNumber += 1
        pools[nextNumber] = Member(pool: pool)
        return nextNumber
    }

    func leave(_ pool: Int) {
        pools[pool] = nil
        waits[pool] = nil
    }

    // MARK: Answers

    /// Bytes of unfinished answers that the pools hold now.
    package var answerBytes: Int { answers.bytes }

    /// Charges what a lane holds; then cuts the largest answers while all lanes together hold too much.
    func charge(_ lane: Int, _ holding: AnswerBudget.Holding) {
        answers.charge(lane, holding)
        while answers.isExceeded, let holder = answers.holderOfLargest {
            let before = answers.bytes
            if let pool = lanes[holder].flatMap({ pools[$0] })?.pool { pool.cutLargestAnswer(ofLane: holder) }
            if answers.bytes >= before { answers.release(holder) }
        }
    }

    /// See ``AnswerBudget/mayRead``.
    var mayRead: Bool { answers.mayRead }

    func completed(_ body: Int) { answers.completed(body) }

    func delivered(_ bodies: Int) { answers.delivered(bodies) }

    // MARK: Lanes

    /// A number for a lane that a pool opens; nil if the process can open no more files. Then a lane of another pool is
    /// closed, and the pool has to ask again.
    func openLane(of pool: Int, nowMs: Int64) -> Int? {
        if let wait = waits[pool], nowMs - wait.checkedAtMs < Self.recheckMs { return nil }
        guard hasFiles(nowMs: nowMs) else {
            requestLane(for: pool, nowMs: nowMs)
            return nil
        }
        waits[pool] = nil
        nextNumber += 1
        lanes[nextNumber] = pool
        return nextNumber
    }

    func closedLane(_ lane: Int) {
        lanes[lane] = nil
        answers.release(lane)
    }

    /// Whether one more lane leaves ``reservedFiles`` for the rest of the process; the first lane of all need not.
    private func hasFiles(nowMs: Int64) -> Bool {
        guard mayBeShort, let room = fileRoom() else { return true }
        let recent = pools.values.reduce(0) { $0 + $1.pool.lanesOpened(sinceMs: nowMs - Self.openingMs) }
        return room - (recent + 1) * Self.filesOfOpening >= (lanes.isEmpty ? 0 : Self.reservedFiles)
    }

    /// Whether the lanes are so many, or the limit is so low, that the open files have to be counted.
    private var mayBeShort: Bool { fileLimit.map { (lanes.count + 1) * 4 + 256 > $0 } ?? false }

    /// Has a lane of another pool closed, unless one is being closed for this pool.
    private func requestLane(for pool: Int, nowMs: Int64) {
        var wait = Wait(lane: waits[pool]?.lane, checkedAtMs: nowMs)
        defer { waits[pool] = wait }
        if let lane = wait.lane, lanes[lane] != nil { return }
        let candidates = pools.flatMap { number, member in member.pool.laneCandidates(pool: number) }
        wait.lane = LaneSharing.giver(for: pool, lanes: candidates, nowMs: nowMs)
        guard let lane = wait.lane, let giver = lanes[lane].flatMap({ pools[$0] })?.pool else { return }
        giver.giveUp(lane: lane)
    }

    // MARK: Reasons

    /// The reason of a request that found no connection, with the remedy where files are short.
    func explained(_ reason: Reason) -> Reason {
        guard mayBeShort, let fileLimit, let room = fileRoom(), room < Self.reservedFiles else { return reason }
        return reason.adding(hint: Self.shortage(fileLimit), as: .files)
    }

    /// Why a request of the pool got no stream in time.
    func waitReason(of pool: Int) -> Reason {
        let reason = Reason(.timeout, "no free stream in time")
        guard waits[pool] != nil, let fileLimit else { return reason }
        return reason.adding(hint: Self.shortage(fileLimit), as: .files)
    }

    private static func shortage(_ limit: Int) -> String {
        "at most \(limit) files may be open, so \(OpenFiles.remedy)"
    }
}
