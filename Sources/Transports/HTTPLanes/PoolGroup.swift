/// The pools of one loop, and what they share: memory for answers. Loop-confined.
public final class PoolGroup {
    /// Bytes of unfinished answers that the pools of a worker hold together.
    public static let maximumAnswerBytes = 64 << 20

    private(set) var answers: AnswerBudget
    private var pools: [Int: Member] = [:]
    /// The lanes of all pools, by their numbers in the group.
    private var lanes: [Int: Int] = [:]
    private var nextNumber = 0

    private struct Member { unowned let pool: LanePool }

    public convenience init() { self.init(maximumAnswerBytes: Self.maximumAnswerBytes) }

    package init(maximumAnswerBytes: Int) { answers = AnswerBudget(maximumBytes: maximumAnswerBytes) }

    /// - Returns: the pool's number.
    func join(_ pool: LanePool) -> Int {
        nextNumber += 1
        pools[nextNumber] = Member(pool: pool)
        return nextNumber
    }

    func leave(_ pool: Int) { pools[pool] = nil }

    /// A number for a lane that a pool opens.
    func openLane(of pool: Int) -> Int {
        nextNumber += 1
        lanes[nextNumber] = pool
        return nextNumber
    }

    func closedLane(_ lane: Int) {
        lanes[lane] = nil
        answers.release(lane)
    }

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
}
