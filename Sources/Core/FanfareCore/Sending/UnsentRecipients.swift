internal import FanfareModel
internal import StreamWire

/// The positions of a batch that are still to be sent, in their order.
///
/// Sends begin below the confirmed watermark: what Redis has not confirmed would be sent twice after a crash.
struct UnsentRecipients: Sendable {
    /// Sends below `confirmed` may begin; Redis has been asked to confirm up to `requested`.
    struct Watermark: Equatable, Sendable {
        var confirmed: Int
        var requested: Int
    }

    var watermark: Watermark
    private let count: Int
    /// Whether a guard of the job decides how far the watermark may rise: what stands below it is sent then, and waits
    /// neither for the rest of a full request nor for an equal recipient of another one.
    private let isGranted: Bool
    /// In order; ``head`` is the next. A batch that was taken over lacks what is finished or in doubt.
    private var positions: [Int] = []
    private var head = 0
    /// Positions to send before the others, the last first: their request never left, their access token was refused, or
    /// their rate check let them through.
    private var repeated: [Int] = []
    /// Granted positions whose last equal recipient stands above the watermark: they are sent once it is below.
    private var waiting: [Int] = []
    /// Positions that wait for the next access token, each once.
    private var awaitingToken: [Int] = []
    private var refusedOnce: Set<Int> = []
    private var unsentTimes: [Int: Int] = [:]
    /// Positions that passed the check of their recipient's rate and were not sent yet.
    private var passed: Set<Int> = []
    /// Positions with the same recipient as an earlier one: sent once, reported for each.
    private(set) var aliases: [Int: [Int]] = [:]

    /// How often a position whose request never left is tried from here before it waits in Redis.
    private static let maximumUnsentTimes = 3

    /// - Parameters:
    ///   - confirmed: the watermark of the claim.
    ///   - boundary: the position after the job's canary, if it is in the batch. Recipients before and after it share
    ///     no send, although they are equal: recipients before it are sent when later ones may not be yet.
    ///   - isGranted: whether the job has a rate or a canary.
    ///   - joinsEqual: whether equal recipients share a send; of no use where nothing is sent.
    init(
        _ recipients: [HeldRecipient],
        confirmed: Int,
        boundary: Int? = nil,
        isGranted: Bool = false,
        joinsEqual: Bool = true
    ) {
        count = recipients.count
        self.isGranted = isGranted
        watermark = Watermark(confirmed: confirmed, requested: confirmed)
        positions.reserveCapacity(count)
        var first: [SharedText: Int] = [:]
        let joinsEqual = joinsEqual && count > 1
        if joinsEqual { first.reserveCapacity(count) }
        var isBehind = false
        for position in recipients.indices where recipients[position].progress == .unsent {
            if let boundary, position >= boundary, !isBehind {
                isBehind = true
                first.removeAll(keepingCapacity: true)
            }
            if joinsEqual {
                if let original = first[recipients[position].stored] {
                    aliases[original, default: []].append(position)
                    continue
                }
                first[recipients[position].stored] = position
            }
            positions.append(position)
        }
    }

    /// Sends that have not begun.
    var left: Int { positions.count - head + repeated.count + waiting.count + awaitingToken.count }

    /// Sends that have not begun and do not wait for an access token.
    var leftWithToken: Int { left - awaitingToken.count }

    /// Replaces `candidates` by the positions that the next request may carry; by none while the watermark is too low.
    ///
    /// - Parameter isShared: whether recipients share requests; the watermark has to cover the whole batch then, unless a
    ///   guard grants it.
    mutating func next(_ most: Int, sharing isShared: Bool, into candidates: inout [Int]) {
        candidates.removeAll(keepingCapacity: true)
        guard isShared else {
            if let position = next() { candidates.append(position) }
            return
        }
        guard leftWithToken > 0, isGranted || watermark.confirmed >= count else { return }
        guard isGranted else {
            let waiters = awaitingToken
            awaitingToken = []
            let all = removeAll()
            candidates.append(contentsOf: all.prefix(most))
            (repeated, awaitingToken) = (Array(all.dropFirst(most)), waiters)
            return
        }
        while candidates.count < most, let position = nextGranted() { candidates.append(position) }
    }

    /// The next position, or nil if there is none below the confirmed watermark.
    private mutating func next() -> Int? {
        if isGranted { return nextGranted() }
        if repeated.isEmpty, head < positions.count, reach(positions[head]) >= watermark.confirmed { return nil }
        return nextWithToken()
    }

    /// Removes one of the positions below the confirmed watermark at random: neighbours in a list are often alike.
    ///
    /// - Parameter random: from 0 up to, not including, 1.
    mutating func nextAtRandom(_ random: Double) -> Int? {
        let ready = positions[head...].prefix { reach($0) < watermark.confirmed }.count
        guard repeated.isEmpty, ready > 0, !isGranted else { return next() }
        return positions.remove(at: head + min(ready - 1, Int(random * Double(ready))))
    }

    private mutating func nextGranted() -> Int? {
        if let position = repeated.popLast() { return position }
        let ready = waiting.firstIndex { reach($0) < watermark.confirmed }
        if let ready { return waiting.remove(at: ready) }
        while head < positions.count, positions[head] < watermark.confirmed {
            let position = positions[head]
            head += 1
            if reach(position) < watermark.confirmed { return position }
            waiting.append(position)
        }
        return nil
    }

    /// Positions that may be sent now, while a guard grants the watermark.
    var leftBelowWatermark: Int {
        let granted = positions[head...].prefix { $0 < watermark.confirmed } + waiting
        return repeated.count + granted.count { reach($0) < watermark.confirmed }
    }

    /// The next position whatever the watermark: for what needs no send.
    mutating func nextWithoutSend() -> Int? { nextWithToken() ?? awaitingToken.popLast() }

    private mutating func nextWithToken() -> Int? {
        if let position = repeated.popLast() ?? waiting.popLast() { return position }
        guard head < positions.count else { return nil }
        defer { head += 1 }
        return positions[head]
    }

    /// Removes every position, for results that need no send.
    mutating func removeAll() -> [Int] {
        defer {
            head = positions.count
            (repeated, waiting, awaitingToken) = ([], [], [])
        }
        return repeated + waiting + awaitingToken + positions[head...]
    }

    /// Removes the positions below the confirmed watermark, which another worker would take for possibly sent.
    mutating func removeBelowWatermark() -> [Int] {
        let end = positions[head...].firstIndex { $0 >= watermark.confirmed } ?? positions.count
        defer {
            head = end
            (repeated, waiting, awaitingToken) = ([], [], [])
        }
        return repeated + waiting + awaitingToken + positions[head..<end]
    }

    /// Puts positions back whose request never left.
    ///
    /// - Returns: false, and nothing done, if that has happened to one of them too often.
    mutating func repeatUnsent(_ unsent: Positions) -> Bool {
        guard unsent.allSatisfy({ unsentTimes[$0, default: 0] < Self.maximumUnsentTimes }) else { return false }
        for position in unsent {
            unsentTimes[position, default: 0] += 1
            repeated.append(position)
        }
        return true
    }

    /// Puts a position back whose access token was refused, to be sent after ``tokenCame()``, or at once if there is a newer
    /// token; false if that has happened to it before.
    mutating func awaitToken(_ position: Int, hasNewer: Bool = false) -> Bool {
        guard refusedOnce.insert(position).inserted else { return false }
        if hasNewer { repeated.append(position) } else { awaitingToken.append(position) }
        return true
    }

    var awaitsToken: Bool { !awaitingToken.isEmpty }

    /// Whether the position's access token was refused.
    func hasAwaitedToken(_ position: Int) -> Bool { !refusedOnce.isEmpty && refusedOnce.contains(position) }

    mutating func tokenCame() {
        repeated += awaitingToken
        awaitingToken = []
    }

    /// Puts a position back whose recipient's rate allows a send now.
    mutating func repeatPassed(_ position: Int) {
        passed.insert(position)
        repeated.append(position)
    }

    /// True once for a position that passed the check of its recipient's rate.
    mutating func removePassed(_ position: Int) -> Bool { !passed.isEmpty && passed.remove(position) != nil }

    /// The watermark to request now; nil while enough sends may begin.
    func watermarkToRequest(window: Int) -> Int? {
        guard watermark.requested < count, let next = nextToCover else { return nil }
        let last = isGranted ? next : reach(next)
        guard watermark.requested - next < window / 2 || last >= watermark.requested else { return nil }
        return min(count, max(watermark.requested, last) + window)
    }

    /// The position that the watermark has to cover next; nil if none is left.
    private var nextToCover: Int? { head < positions.count ? positions[head] : waiting.map(reach).max() }

    /// The last position that a send of this one reports.
    private func reach(_ position: Int) -> Int { aliases.isEmpty ? position : aliases[position]?.last ?? position }

    /// A position and all others with the same recipient.
    func sharing(_ position: Int) -> Positions {
        guard !aliases.isEmpty, let others = aliases[position] else { return Positions(position) }
        return Positions(position, others)
    }
}
