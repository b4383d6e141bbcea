internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Writes what became of recipients: gathers for a few milliseconds, then one atomic step a batch. The only way back
/// from the data path to Redis.
///
/// A call whose answer was lost is sent again as it was; the function answers the same. Until the answer is there the
/// recipients count as uncommitted, and the sum of those bounds how much may be sent.
final class Recorder {
    private let project: ProjectContext
    private var dirty: [ActiveBatch] = []
    private var unanswered: [UInt64: Flush] = [:]
    private var nextFlush: UInt64 = 1
    private var timer: TimerID?
    private var recent: ReplayBuffer
    private var nextComplaint: UInt64 = 0

    /// Recipients whose result is not yet in Redis.
    private(set) var uncommitted = 0
    var isIdle: Bool { dirty.isEmpty && unanswered.isEmpty }

    /// Called when a batch has closed, or when leave to send was confirmed.
    var onProgress: () -> Void = {}

    /// Results a call may carry before it goes without waiting for the timer. What a call costs by itself is little for
    /// so many, and what they hold is less than what the allocator maps anew each time.
    private static let flushCount = 256
    /// Results and retries up to which a call goes together with others.
    private static let few = 8

    init(project: ProjectContext) {
        self.project = project
        recent = ReplayBuffer(awaitsReplicas: project.configuration.awaitsReplicas)
    }

    /// Asks whether a replica has all that was confirmed so far. Redis keeps this connection waiting for up to 20 ms.
    func checkReplicas() {
        guard project.redis.state == .ready, !isCut else { return }
        let sentAt = project.loop.now
        project.redis.send(RedisCommand("WAIT", "1", "20")) { [weak self] result in
            if case .success(.integer(1...)) = result { self?.recent.markReplicated(upTo: sentAt) }
        }
    }

    // MARK: What happened

    func result(_ record: ResultRecord, position: Int, of batch: ActiveBatch) {
        guard batch.close(position) else { return }
        project.meters.finished(record.status, record.failure?.error, maybeDup: record.maybeDup)
        touch(batch)
        if record.status == .sent, batch.job.isSubscribing {
            batch.pending.noteSubscribed(batch.recipients[position].text, topic: batch.job.spec.subscription)
        }
        batch.pending.append(record, policy: batch.job.results, expected: expected(of: batch))
        uncommitted += 1
        flushIfFull(batch)
    }

    /// The usual result, of a position that was closed for it.
    func result(_ result: PlainResult, position: Int, of batch: ActiveBatch) {
        touch(batch)
        if batch.job.isSubscribing {
            batch.pending.noteSubscribed(batch.recipients[position].text, topic: batch.job.spec.subscription)
        }
        batch.pending.append(result, policy: batch.job.results, expected: expected(of: batch))
        gathered(1, of: batch)
    }

    /// The usual results of those of a request that were closed for them, given their places in it.
    func sent(_ closed: [Int], of flight: Flight, _ verdicts: AnswerVerdicts) {
        let batch = flight.batch
        var rest = closed[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.flushCount)
            rest = rest.dropFirst(part.count)
            touch(batch)
            if batch.job.isSubscribing {
                for index in part {
                    let text = batch.recipients[flight.positions[index]].text
                    batch.pending.noteSubscribed(text, topic: batch.job.spec.subscription)
                }
            }
            batch.pending.append(part, of: flight, verdicts, expected: expected(of: batch))
            gathered(part.count, of: batch)
        }
    }

    /// Part by part: a batch of which nothing is open is finished with the call that goes out then.
    private func gathered(_ count: Int, of batch: ActiveBatch) {
        batch.reported(count)
        uncommitted += count
        project.meters.sent(count)
        flushIfFull(batch)
    }

    /// Results that the flush under way will hold, about.
    private func expected(of batch: ActiveBatch) -> Int {
        min(batch.open + 1, batch.job.sharesRequests ? Self.flushCount : batch.lastFlush)
    }

    func retry(_ retry: RecordCall.Retry, position: Int, of batch: ActiveBatch) {
        guard batch.close(position) else { return }
        touch(batch)
        // A fenced worker decides nothing: its recipients belong to the batch's new holder.
        if !batch.isFenced {
            batch.pending.retries.append(retry)
            uncommitted += 1
        }
        flushIfFull(batch)
    }

    /// Answers arrived for first-pass sends; `bad` when they say that the message is wrong.
    func answered(_ batch: ActiveBatch, _ count: Int = 1, bad: Failure? = nil) {
        guard batch.pass == .first, batch.job.spec.total > Batch.maximumSize else { return }
        batch.pending.answers += count
        if let bad {
            batch.pending.badAnswers += 1
            batch.pending.badAnswer = AbortCode.encode(bad)
        }
    }

    func holdProject(_ milliseconds: Int64, batch: ActiveBatch) {
        touch(batch)
        batch.pending.holdMs = max(batch.pending.holdMs, milliseconds)
    }

    func blockProject(_ reason: String, batch: ActiveBatch) {
        touch(batch)
        batch.pending.blockReason = reason
    }

    /// FCM answered for the project, so a block is over.
    func projectAnswers(_ batch: ActiveBatch) {
        touch(batch)
        batch.pending.projectAnswers = true
    }

    /// The last send of the batch has begun; the slot may go on at once.
    func allSent(_ batch: ActiveBatch) {
        guard !batch.isClosed, !batch.isFenced else { return }
        batch.pending.allSent = true
        touch(batch)
        flush(batch)
    }

    /// FCM refused a recipient for its rate: whoever wants to send to it waits.
    func refuseRate(_ rate: RecordCall.RefusedRate, batch: ActiveBatch) {
        touch(batch)
        batch.pending.refusedRates.append(rate)
    }

    /// Asks for leave to begin more sends.
    func watermark(_ position: Int, of batch: ActiveBatch) {
        batch.requested = position
        touch(batch)
        batch.pending.upto = position
        flush(batch)
    }

    // MARK: Writing

    private func touch(_ batch: ActiveBatch) {
        if !batch.isDirty {
            batch.isDirty = true
            dirty.append(batch)
        }
        guard timer == nil else { return }
        timer = project.loop.schedule(afterMilliseconds: project.configuration.flushMs) { [weak self] in
            self?.timer = nil
            self?.flushAll()
        }
    }

    private func flushIfFull(_ batch: ActiveBatch) {
        // The last of a batch goes at once: whoever waits for the job, or for room, should not wait for a timer.
        let count = batch.pending.results.count + batch.pending.retries.count
        if count >= Self.flushCount || batch.open == 0 { flush(batch) }
    }

    func flushAll() {
        let batches = dirty
        dirty.removeAll(keepingCapacity: true)
        for batch in batches where batch.isDirty { flush(batch) }
    }

    private func flush(_ batch: ActiveBatch) {
        batch.isDirty = false
        var pending = batch.pending
        batch.pending = FlushBuffer()
        batch.lastFlush = pending.results.count
        if batch.isFenced {
            uncommitted -= pending.retries.count
            pending.retries = []
        }
        submit(Flush(pending, of: batch, isLate: batch.isFenced))
    }

    private func submit(_ flush: Flush) {
        let id = nextFlush
        nextFlush += 1
        if !flush.pending.blockReason.isEmpty { project.blockIsWritten() }
        if let batch = flush.batch {
            // The batch closes only when everything before is known to be written: a call that overtook another one must
            // not leave that one without its batch.
            let finish = batch.open == 0 && batch.unanswered == 0 && !flush.isLate
            batch.calls += 1
            batch.unanswered += 1
            flush.complete(number: batch.calls, finish: finish)
        }
        unanswered[id] = flush
        send(id)
    }

    private func send(_ id: UInt64) {
        guard !isCut, let flush = unanswered[id] else { return }
        let command = flush.call.command(project.keys, worker: project.leaseName, nowMs: project.workerClockMs)
        let completion: CommandCoalescer.Completion = { [weak self] result in self?.completed(id, result) }
        // A few results: what they ask for in common is most of what they cost.
        if flush.count <= Self.few {
            project.coalescer.append(command, as: .record, completion)
        } else {
            project.coalescer.send(command, completion)
        }
    }

    private func completed(_ id: UInt64, _ result: Result<RedisValue, RedisError>) {
        switch result {
        case .failure(let error):
            // Kept, and sent again when the connection is back; nothing new is sent meanwhile.
            complain(error)
            project.meters.redisFailed()
            // A lost connection is repeated by resend(); an error reply, which left the connection as it was, here.
            guard project.redis.state == .ready, error.code != .connectionLost, error.code != .timeout else { return }
            project.loop.schedule(afterMilliseconds: 100) { [weak self] in self?.send(id) }
        case .success(let value):
            guard let reply = RecordReply(value) else {
                project.logger.error("Redis answered a flush with something else: are the functions this version's?")
                project.loop.schedule(afterMilliseconds: 1_000) { [weak self] in self?.send(id) }
                return
            }
            guard let flush = unanswered.removeValue(forKey: id) else { return }
            flush.batch?.unanswered -= 1
            uncommitted -= flush.count
            confirmed(flush, reply)
        }
    }

    /// What passes by itself is of no use to anybody; what does not, such as a right that is missing, needs a person.
    private func complain(_ error: RedisError) {
        guard !error.isTransient, project.loop.now >= nextComplaint else {
            return project.logger.debug("A flush was not answered.", metadata: ["error": "\(error)"])
        }
        nextComplaint = project.loop.now + 10_000_000_000
        project.logger.error(
            "Redis does not take results; they are kept and tried again.",
            metadata: ["error": "\(error)"]
        )
    }

    private func confirmed(_ flush: Flush, _ reply: RecordReply) {
        defer { onProgress() }
        guard let batch = flush.batch else { return }
        switch reply {
        case .ok(let abort):
            if !flush.isLate { batch.confirmedCall = max(batch.confirmedCall, flush.call.number) }
            if !flush.isLate { recent.add(flush.pending, of: flush.source, now: project.loop.now) }
            if let upto = flush.pending.upto { batch.authorised = max(batch.authorised, upto) }
            if !abort.isEmpty, batch.job.abort == nil { batch.job.abort = AbortCode.decode(abort) }
            if flush.call.finish { batch.isClosed = true }
            closeIfDone(batch)
        case .stale:
            batch.isFenced = true
            if !flush.isLate, !flush.pending.results.isEmpty {
                // Facts are accepted from anyone: handed in again, marked as possible duplicates.
                uncommitted += flush.pending.results.count
                submit(Flush(flush.pending.facts, of: batch, isLate: true))
            }
        case .gone:
            batch.isFenced = true
        }
    }

    /// Writes the end of a batch whose last recipient was reported in a call that could not say so yet.
    func closeIfDone(_ batch: ActiveBatch) {
        guard batch.open == 0, !batch.isClosed, !batch.isFenced, batch.unanswered == 0, !batch.isDirty else { return }
        submit(Flush(FlushBuffer(), of: batch, isLate: false))
    }

    /// Another server answers, or the same one after a restart. It may have forgotten its last seconds, so what was
    /// written in them is handed in again; facts are set once, so that does no harm where nothing was lost.
    private func handInAgain(_ held: [ActiveBatch]) {
        let held = Dictionary(held.map { ($0.source, $0) }) { $1 }
        for (source, facts) in recent.takeAll() {
            uncommitted += facts.results.count
            submit(Flush(facts, of: held[source], from: source, isLate: true))
        }
    }

    /// Until it is known what Redis remembers, no call goes out: on a connection that is new, one that came before the
    /// question would make an older state look like the newest, and what that has forgotten would be lost.
    private var isCut = true

    func disconnected() { isCut = true }

    /// The connection is back: what was not answered is sent again, in order.
    ///
    /// - Parameters:
    ///   - held: the batches that are not over yet: each waits for what is handed in again of it.
    ///   - reconcile: asks what is ours, at once; after the facts that Redis may have forgotten, and before the calls that
    ///     would make an older state look like the newest.
    func reconnected(isSameServer: Bool, held: [ActiveBatch], reconcile: () -> Void) {
        let unconfirmed = unanswered.keys.sorted()
        isCut = false
        if !isSameServer { handInAgain(held) }
        reconcile()
        for id in unconfirmed { send(id) }
    }
}

/// One call, kept until Redis has answered it.
private final class Flush {
    let pending: FlushBuffer
    /// nil when it is over: nothing of it waits for the answer.
    let batch: ActiveBatch?
    let source: BatchSource
    let isLate: Bool
    private(set) var call: RecordCall

    convenience init(_ pending: FlushBuffer, of batch: ActiveBatch, isLate: Bool) {
        self.init(pending, of: batch, from: batch.source, isLate: isLate)
    }

    init(_ pending: FlushBuffer, of batch: ActiveBatch?, from source: BatchSource, isLate: Bool) {
        self.pending = pending
        self.batch = batch
        self.source = source
        self.isLate = isLate
        call = RecordCall(job: source.job, batch: source.batch, epoch: source.epoch)
        call.late = isLate
        call.results = isLate && !source.isManagement ? pending.doubtedResults() : pending.results
        call.feedback = pending.feedback
        call.subscribed = pending.subscribed
    }

    var count: Int { pending.results.count + pending.retries.count }

    /// Says what only the holder of the batch may say.
    func complete(number: Int, finish: Bool) {
        guard !isLate, let batch else { return }
        call.number = number
        call.finish = finish
        call.probeUnused = finish && batch.isProbe && !batch.wasSent
        call.upto = pending.upto
        call.allSent = pending.allSent
        call.refusedRates = pending.refusedRates
        call.retries = pending.retries
        call.holdMs = pending.holdMs
        call.blockReason = pending.blockReason
        call.projectAnswers = pending.projectAnswers
        call.answers = pending.answers
        call.badAnswers = pending.badAnswers
        call.badAnswer = pending.badAnswer
    }
}

/// How the error that ends a fan-out's unsent recipients travels through Redis.
enum AbortCode {
    static func encode(_ failure: Failure) -> String {
        "\(failure.error.rawValue)|\(failure.action.rawValue)|\(failure.httpStatus)|\(failure.rawError)"
    }

    static func decode(_ text: String) -> Failure? {
        let parts = text.split(separator: "|", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let error = ErrorCode(rawValue: String(parts[0])),
            let action = RemedyAction(rawValue: String(parts[1])), let status = Int(parts[2])
        else { return nil }
        return Failure(error: error, action: action, rawError: String(parts[3]), httpStatus: status)
    }
}
