internal import FanfareCore
internal import FanfareModel
internal import StreamWire

/// Whose results they are, for as long as they may be handed in.
struct BatchSource: Hashable {
    let job: String
    let batch: String
    let epoch: String
    /// Handed in late, its results are not marked as possible duplicates: no device shows such a thing twice.
    let isManagement: Bool
}

/// A batch that this worker holds: what is left to send, what is under way, and what has been reported.
final class ActiveBatch {
    var name: String { "\(job.id)/\(batch)" }
    let batch: String
    let epoch: String
    let pass: Claim.Pass
    let job: JobContext
    var recipients: [ClaimedRecipient]
    /// Of the recipients by position, where their repetitions in the job are counted.
    private let hashes: [UInt64]
    /// Positions to send, in order. A batch that was taken over lacks what is finished or in doubt.
    private var todo: [Int]
    private var head = 0
    /// Positions to send once more with a new access token, and those that already were.
    private var again: [Int] = []
    private var authorisedAgain: Set<Int> = []
    private var unsentTimes: [Int: Int] = [:]
    /// Positions that share their recipient with an earlier one: sent once, reported for each.
    private(set) var aliases: [Int: [Int]] = [:]

    /// Sends below this position may begin: what Redis has confirmed. A crash leaves in doubt only what is below.
    var authorised: Int
    /// What Redis has been asked for.
    var requested: Int
    /// Recipients without a result or a retry yet.
    private(set) var open = 0
    var inFlight = 0
    /// The one recipient that may be sent while the project is blocked.
    var isProbe = false
    /// A request of it has been handed to a lane.
    var wasSent = false
    /// Calls made for it so far, and the last one that Redis has confirmed.
    var calls = 0
    var confirmedCall = 0
    /// Another worker holds it now: nothing new is sent, and what is known is handed in as late facts.
    var isFenced = false

    /// Its job was paused or parked: what is unsent has been taken out, and the batch goes back when its last answer is in.
    var isStopping = false
    /// The last answer was that FCM has no capacity: others go first for a while.
    var isOverloaded = false
    /// It is in the queue of what is to be sent, counted with this many recipients.
    var isQueued = false
    var queuedCount = 0
    /// Redis has been told that the last send of the batch has begun.
    var saidAllSent = false
    /// Positions that wait for Redis to say whether their recipient may be sent to yet, and those that it let through.
    var pacing = 0
    private var paced: Set<Int> = []

    /// What the recorder has gathered, and how many of its calls are not answered yet.
    var pending = FlushBuffer()
    /// Results of its last call: the next may hold as many, and has room for them from the beginning.
    var lastFlush = 0
    var isDirty = false
    var unanswered = 0
    /// Loop time at which this worker took it, and its span where somebody traces.
    var startedAt: UInt64 = 0
    var span: BatchSpan?
    /// Redis has confirmed that the batch is closed.
    var isClosed = false

    init(claim: Claim, job: JobContext) {
        batch = claim.batch
        epoch = claim.epoch
        pass = claim.pass
        self.job = job
        recipients = claim.recipients
        // What is done twice to a subscription or a group is done once: nobody has to know how far it had come.
        authorised = job.isManagement ? recipients.count : claim.upto
        requested = authorised
        todo = []
        todo.reserveCapacity(recipients.count)
        // What is alone repeats nobody.
        var index = recipients.count > 1 ? RecipientIndex(capacity: recipients.count) : nil
        var hashes: [UInt64] = []
        if index != nil || job.countsRepeats {
            // A group counts by its key, however far its members have been sent to.
            hashes =
                job.spec.kind == .group
                ? recipients.map { ByteHash.of(Self.name($0, kind: .group)) } : recipients.map { ByteHash.of($0.text) }
        }
        self.hashes = job.countsRepeats ? hashes : []
        for position in recipients.indices where recipients[position].fate != .finished {
            open += 1
            guard recipients[position].fate == .unsent else { continue }
            if let original = index?.earlier(than: position, hash: hashes[position], in: recipients) {
                aliases[original, default: []].append(position)
            } else {
                todo.append(position)
            }
        }
    }

    var count: Int { recipients.count }

    var source: BatchSource {
        BatchSource(job: job.id, batch: batch, epoch: epoch, isManagement: job.isManagement)
    }

    /// What a recipient is called in its result. A group's value may hold how far its members have been sent to.
    func name(of position: Int) -> String { Self.name(recipients[position], kind: job.spec.kind) }

    private static func name(_ recipient: ClaimedRecipient, kind: RecipientKind) -> String {
        kind == .group ? GroupProgress.key(in: recipient.value) : recipient.value
    }

    /// Positions whose sending an earlier worker may have begun.
    var doubtful: [Int] { recipients.indices.filter { recipients[$0].fate == .maybeSent } }

    /// Sends that have not begun: of recipients, and of members in the round that is under way.
    var unsentCount: Int { todo.count - head + again.count + (round?.unsent.count ?? 0) }

    /// A device group's members that are being sent to one by one; such a batch has no other recipient.
    var round: GroupRound?

    /// The next position to send, or nil when there is none or the watermark stands before it.
    func next() -> Int? {
        while let position = again.popLast() {
            if recipients[position].fate != .finished { return position }
        }
        guard head < todo.count, reach(todo[head]) < authorised else { return nil }
        defer { head += 1 }
        return todo[head]
    }

    /// Puts positions back whose request certainly never left; false, and nothing done, when that has happened to one of
    /// them too often, and they should rather wait in Redis.
    func sendUnsentAgain(_ positions: OneOrMore<Int>) -> Bool {
        guard positions.allSatisfy({ unsentTimes[$0, default: 0] < 3 }) else { return false }
        for position in positions {
            unsentTimes[position, default: 0] += 1
            again.append(position)
        }
        return true
    }

    /// A position that was not sent, whatever the watermark: for what needs no send.
    func takeOneUnsent() -> Int? {
        if let position = again.popLast() { return position }
        guard head < todo.count else { return nil }
        defer { head += 1 }
        return todo[head]
    }

    /// Puts a position back that may be sent now though its recipient is paced.
    func sendPaced(_ position: Int) {
        paced.insert(position)
        again.append(position)
    }

    /// Somebody was let through and not sent to yet.
    var hasLetThrough: Bool { !paced.isEmpty }

    /// True once for a position that was let through.
    func wasLetThrough(_ position: Int) -> Bool { hasLetThrough && paced.remove(position) != nil }

    /// How often this worker has been about to send to the recipient in the last minute; 0 for jobs too small to tell.
    func repeats(_ position: Int, now: UInt64) -> Int {
        hashes.isEmpty ? 0 : job.repeats(hash: hashes[position], now: now)
    }

    /// As ``repeats(_:now:)`` of each, in their order; empty for jobs too small to tell.
    func repeats(_ positions: [Int], now: UInt64) -> [Int] {
        guard !hashes.isEmpty else { return [] }
        return job.repeats(hashes: positions.map { hashes[$0] }, now: now)
    }

    /// Puts a position back whose access token was refused; false when that has happened to it before.
    func sendAgain(_ position: Int) -> Bool {
        guard authorisedAgain.insert(position).inserted else { return false }
        again.append(position)
        return true
    }

    /// The last position that a send speaks for: a watermark has to cover those that share the recipient, too.
    private func reach(_ position: Int) -> Int { aliases[position]?.last ?? position }

    /// What is not yet sent, as one request of at most so many; empty while the watermark stands before the last of it.
    func takeAll(most: Int) -> [Int] {
        guard unsentCount > 0, authorised >= count else { return [] }
        let all = takeUnsent().filter { recipients[$0].fate != .finished }
        again = Array(all.dropFirst(most))
        return Array(all.prefix(most))
    }

    /// Everything not yet sent, whatever the watermark: for results that need no send.
    func takeUnsent() -> [Int] {
        defer {
            head = todo.count
            again = []
        }
        return again + todo[head...]
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

    /// A position and those that share its recipient.
    func group(_ position: Int) -> OneOrMore<Int> {
        guard !aliases.isEmpty, let others = aliases[position] else { return OneOrMore(position) }
        return OneOrMore(position, others)
    }

    /// Marks a position as reported; false when it was before.
    func close(_ position: Int) -> Bool {
        guard recipients[position].fate != .finished else { return false }
        recipients[position].fate = .finished
        open -= 1
        return true
    }

    /// So many positions that were closed as sent to have been handed on.
    func reported(_ count: Int) { open -= count }

    /// Marks a position as sent to, with an attempt that began at this time, in the project's. It counts as open until it
    /// was ``reported(_:)``.
    ///
    /// - Returns: what there is to say of it; nil, and nothing done, where that is more than a message's id.
    func closeSent(_ position: Int, messageID: String, startedMs: Int64) -> PlainResult? {
        guard !job.isManagement, recipients[position].closeSent(startedMs: startedMs) else { return nil }
        return result(of: position, messageID: messageID)
    }

    /// As ``closeSent(_:messageID:startedMs:)``, for all of a request's positions whose verdict allows it.
    ///
    /// - Returns: their indices in the request, and beside them those of the others.
    func closeSent(_ verdicts: AnswerVerdicts, of positions: OneOrMore<Int>, startedMs: Int64)
        -> (closed: [Int], others: [Int])
    {
        guard !job.isManagement else { return ([], Array(verdicts.indices)) }
        var closed: [Int] = []
        closed.reserveCapacity(verdicts.count)
        var others: [Int] = []
        // Taken out for as long as it is gone through: each access to a property of an object is watched.
        var recipients: [ClaimedRecipient] = []
        swap(&recipients, &self.recipients)
        for index in verdicts.indices {
            let position = positions[index]
            if verdicts.isPlain(index), aliases.isEmpty || aliases[position] == nil,
                recipients[position].closeSent(startedMs: startedMs)
            {
                closed.append(index)
            } else {
                others.append(index)
            }
        }
        swap(&recipients, &self.recipients)
        return (closed, others)
    }

    private func result(of position: Int, messageID: String) -> PlainResult {
        let recipient = recipients[position]
        return PlainResult(
            index: recipient.index,
            kind: job.spec.kind,
            recipient: Self.name(recipient, kind: job.spec.kind),
            messageID: messageID,
            attempts: recipient.history.attempts
        )
    }

    /// The watermark to ask for now, or nil while there is leave enough.
    func watermarkToRequest(window: Int) -> Int? {
        guard !isFenced, requested < count, head < todo.count else { return nil }
        let next = todo[head]
        guard requested - next < window / 2 || reach(next) >= requested else { return nil }
        return min(count, max(requested, reach(next)) + window)
    }
}

extension ClaimedRecipient {
    /// Marks it as sent to; false, and nothing done, where there is more to say of it, or all has been said.
    fileprivate mutating func closeSent(startedMs: Int64) -> Bool {
        guard !history.maybeDuplicate, fate != .finished else { return false }
        if history.attempts == 0 { history.firstAttemptMs = startedMs }
        history.attempts += 1
        fate = .finished
        return true
    }
}

extension ActiveBatch {
    /// Nothing of it is under way, to FCM or to Redis.
    var isQuiet: Bool { unanswered == 0 && !isDirty && inFlight == 0 && pacing == 0 }

    /// Redis may have closed it already, and only its word is still to come. That a retry is not there then says nothing: a
    /// batch of recipients that wait is gone with its last call.
    var mayBeClosed: Bool { isClosed || (pass == .retry && open == 0 && unanswered > 0) }

    /// How it is let go, once it is over.
    var outcome: ProjectMeters.BatchOutcome { isClosed ? .closed : isStopping ? .returned : .lost }

    /// Nothing more can come of it here.
    var isOver: Bool {
        guard isQuiet else { return false }
        return isFenced || (open == 0 && isClosed)
    }
}
