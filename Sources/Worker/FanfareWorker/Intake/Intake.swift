internal import EventLoop
internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Checks what producers pushed and hands it over: to the queue, to this worker when it is one batch, or to `dead`.
final class Intake {
    private let project: ProjectContext
    private let validator: IntakeValidator
    private let claimer: Claimer
    private let planner: Planner
    private var messages = ValidatedMessageCache()
    private var queue = IntakeBuffer<StreamEntry>()
    private var nextComplaint: UInt64 = 0
    private var audienceWarnings = AudienceWarnings()
    private var nextRejectionComplaint: UInt64 = 0

    /// Called when entries were handed over, so that reading may go on.
    var onHandedOver: () -> Void = {}

    init(project: ProjectContext, claimer: Claimer, planner: Planner) {
        self.project = project
        self.claimer = claimer
        self.planner = planner
        validator = IntakeValidator(
            transport: project.project.transport,
            legacyBody: project.project.legacyBody,
            hasSenderID: project.project.senderID != nil,
            projectKeyTag: "{\(project.project.id)}",
            prefix: project.configuration.prefix
        )
    }

    /// Entries being handed over, those that wait for it included.
    var underWay: Int { queue.underWay }

    /// Entries that may be read now.
    var room: Int {
        guard project.isReady, !project.isDraining, project.pressure == nil else { return 0 }
        return queue.room(now: project.loop.now)
    }

    /// Nothing can be read now, and soon can.
    var isFull: Bool { queue.isFull(now: project.loop.now) }

    /// This consumer was given entries that it is to read.
    func noteLeftovers() { queue.noteLeftovers(now: project.loop.now) }

    /// Of the entries that this consumer was given some were not handed over.
    var hasLeftovers: Bool { queue.hasLeftovers }
    /// They come before new ones.
    var leftoversAreDue: Bool { queue.leftoversAreDue(now: project.loop.now) }

    /// True once, when they are to be read.
    func takeLeftovers() -> Bool { room > 0 && queue.takeLeftovers(now: project.loop.now) }

    func receive(_ entries: [StreamEntry]) {
        for entry in entries { queue.add(entry, bytes: entry.byteCount) }
        handOver()
    }

    private func handOver() { while let entry = queue.next() { take(entry) } }

    private func finished(_ entry: StreamEntry) {
        queue.finished(bytes: entry.byteCount)
        handOver()
        onHandedOver()
    }

    /// Redis did not take the entry: it stays this consumer's, and is read again.
    private func failed(_ entry: StreamEntry, _ sentence: String, _ error: RedisError) {
        queue.failed(bytes: entry.byteCount, now: project.loop.now)
        project.meters.redisFailed()
        if project.loop.now >= nextComplaint {
            nextComplaint = project.loop.now + 1_000_000_000
            project.logger.warning("\(sentence)", metadata: ["entry": "\(entry.id)", "error": "\(error)"])
        }
        onHandedOver()
    }

    /// Logs, once a minute, that a rejection could not be written: the entry stays in `jobs` and is tried again.
    private func rejectionFailed(_ entry: StreamEntry, _ error: RedisError) {
        queue.failed(bytes: entry.byteCount, now: project.loop.now)
        project.meters.redisFailed()
        if project.loop.now >= nextRejectionComplaint {
            nextRejectionComplaint = project.loop.now + 60_000_000_000
            project.logger.warning(
                "Redis does not take a rejection; the entry stays in `jobs` and is tried again.",
                metadata: ["entry": "\(entry.id)", "error": "\(error)"]
            )
        }
        onHandedOver()
    }

    private func take(_ entry: StreamEntry) {
        var known: ProtocolAdapter?
        let decision = validator.decide(entryID: entry.id, fields: entry.fields) { job in
            known = messages.adapter(of: job)
            return known != nil
        }
        switch decision {
        case .accept(let job): accept(job, known, entry)
        case .reject(let job, let reason): reject(entry, job: job, reason: reason)
        }
    }

    private func accept(_ job: Job, _ known: ProtocolAdapter?, _ entry: StreamEntry) {
        let configuration = project.configuration
        let takes = claimer.canTake && project.blockReason == nil && !project.isHeld
        let name = project.leaseName
        var call = IntakeCall(
            job: job,
            dedupeMs: configuration.dedupeMs,
            keepMs: configuration.keepJobMs,
            taker: takes ? name : nil,
            window: project.window,
            quotaPerMinute: project.project.quotaPerMinute,
            fanoutRate: project.project.fanoutRate,
            originals: entry.fields
        )
        if call.recipients?.count == 1, !job.hasOwnID { call.keepMs = configuration.keepSingleJobMs }
        call.audience = AudienceEstimate(of: job, topics: project.project.topics)
        call.connection = project.connection
        call.nowMs = project.workerClockMs
        let adapter: ProtocolAdapter
        // A message that has no counterpart on the project's transport is refused before anything is sent.
        do throws(TranslationError) {
            adapter =
                if let known { known } else { try ProtocolAdapter(call.spec, job: job.id, project: project.project) }
        } catch {
            return reject(entry, job: job.id, reason: error.reason)
        }
        if known == nil { messages.note(job, adapter) }
        let handOver = HandOver(entry: entry, call: call, adapter: adapter, askedAt: project.loop.now, name: name)
        project.coalescer.gather(call.command(project.keys), as: .intake) { [weak self] result in
            self?.handedOver(handOver, result)
        }
    }

    private func handedOver(_ handOver: HandOver, _ result: Result<RedisValue, RedisError>) {
        switch result {
        case .failure(let error): failed(handOver.entry, "Entries cannot be handed over yet.", error)
        case .success(let value):
            let reply = IntakeReply(value)
            if let outcome = reply?.outcome { project.meters.took(outcome) }
            switch reply {
            case .taken(let epoch, let permits):
                project.permits.lent(permits, askedAt: handOver.askedAt)
                // Taken under a name that is dead meanwhile, it is for others.
                if handOver.name == project.leaseName {
                    planner.taken(handOver.call, handOver.adapter, epoch: epoch)
                }
            case .queued:
                claimer.askLater(0)
                if let audience = AudienceReply(value) { warn(audience, of: handOver.call.job) }
            case .reject(let reason): return reject(handOver.entry, job: handOver.call.job.id, reason: reason)
            case .gone, .duplicate, .done: break
            case nil:
                project.logger.error("Redis answered intake with something else: are the functions this version's?")
            }
            finished(handOver.entry)
        }
    }

    private func warn(_ audience: AudienceReply, of job: Job) {
        let name: String
        switch job.target {
        case .topic(let topic): name = topic
        case .condition(let text): name = text
        case .tokens, .fids, .group, .audience: return
        }
        guard let sentence = audienceWarnings.sentence(audience.source, name: name, now: project.loop.now) else {
            return
        }
        project.logger.warning(
            "\(sentence)",
            metadata: ["\(job.target.kind.rawValue)": "\(name)", "estimate": "\(audience.size)", "job": "\(job.id)"]
        )
    }

    private func reject(_ entry: StreamEntry, job: String, reason: String) {
        let command = FunctionLibrary.reject(
            project.keys,
            entryID: entry.id,
            job: job,
            reason: reason,
            keepMs: project.configuration.keepJobMs,
            fields: entry.fields,
            undecodedNames: entry.undecodedNames
        )
        project.redis.send(command) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error):
                project.coalescer.onRefused(error)
                rejectionFailed(entry, error)
            case .success(let value):
                if value.array?.first?.string == "rejected" {
                    project.meters.took(.rejected)
                    project.logger.notice("A job was rejected.", metadata: ["job": "\(job)", "reason": "\(reason)"])
                }
                finished(entry)
            }
        }
    }
}

/// An entry on its way to its job's own keys.
private final class HandOver {
    let entry: StreamEntry
    let call: IntakeCall
    let adapter: ProtocolAdapter
    let askedAt: UInt64
    /// The name that it is taken under.
    let name: String

    init(entry: StreamEntry, call: IntakeCall, adapter: ProtocolAdapter, askedAt: UInt64, name: String) {
        self.entry = entry
        self.call = call
        self.adapter = adapter
        self.askedAt = askedAt
        self.name = name
    }
}

extension IntakeReply {
    /// nil where it is not this worker that took the job out of the stream.
    fileprivate var outcome: ProjectMeters.JobOutcome? {
        switch self {
        case .taken, .queued, .done: return .accepted
        case .duplicate: return .duplicate
        case .gone, .reject: return nil
        }
    }
}
