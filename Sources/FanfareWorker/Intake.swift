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
    private let scheduler: Scheduler
    private let planner: Planner
    private var messages = KnownMessages()
    /// Entries being handed over, those that wait for it included.
    private(set) var underWay = 0
    /// Bytes of those that do not wait any more.
    private var bytesUnderWay = 0
    /// Read, and kept until those before them, which are large, have been handed over.
    private var waiting: [StreamEntry] = []

    /// Called when entries were handed over, so that reading may go on.
    var onHandedOver: () -> Void = {}

    /// Entries that may be between reading and hand-over.
    private static let limit = 256

    init(project: ProjectContext, scheduler: Scheduler, planner: Planner) {
        self.project = project
        self.scheduler = scheduler
        self.planner = planner
        validator = IntakeValidator(
            transport: project.project.transport,
            legacyBody: project.project.legacyBody,
            hasSenderID: project.project.senderID != nil,
            projectKeyTag: "{\(project.project.id)}",
            prefix: project.configuration.prefix
        )
    }

    var room: Int {
        guard project.isReady, !project.isDraining, project.pressure == nil, !isPausing else { return 0 }
        return waiting.isEmpty && bytesUnderWay < EntryAllowance.mostBytes ? max(0, Self.limit - underWay) : 0
    }

    /// When Redis last did not take an entry. Reading on would only pile up what was given to this consumer and cannot
    /// be handed over.
    private var failedAt: UInt64?
    private var isPausing: Bool { failedAt.map { project.loop.now < $0 + 500_000_000 } ?? false }

    /// Among the entries that this consumer was given are some that were not handed over. They come before new ones.
    private(set) var hasLeftovers = false

    func noteLeftovers() { hasLeftovers = true }

    /// True once, when there are leftovers and none of them can be under way.
    func takeLeftovers() -> Bool {
        guard hasLeftovers, room > 0, underWay == 0 else { return false }
        (hasLeftovers, failedAt) = (false, nil)
        return true
    }

    func receive(_ entries: [StreamEntry]) {
        underWay += entries.count
        for (index, entry) in entries.enumerated() {
            // Each is held several times on its way, so that many large ones at once are more than a machine has.
            guard bytesUnderWay < EntryAllowance.mostBytes else { return waiting += entries[index...] }
            take(entry)
        }
    }

    /// The entry is where it belongs, or stays with this consumer to be read again.
    private func finished(_ entry: StreamEntry) {
        underWay -= 1
        bytesUnderWay -= entry.byteCount
        while let next = waiting.first, bytesUnderWay < EntryAllowance.mostBytes {
            waiting.removeFirst()
            take(next)
        }
        onHandedOver()
    }

    /// Redis did not take an entry: those that wait would fare no better. All of them are this consumer's, and are read
    /// again when Redis takes entries.
    private func failed(_ entry: StreamEntry) {
        underWay -= waiting.count
        waiting = []
        (hasLeftovers, failedAt) = (true, project.loop.now)
        project.meters.redisFailed()
        finished(entry)
    }

    private func take(_ entry: StreamEntry) {
        bytesUnderWay += entry.byteCount
        var known: Carriage?
        let decision = validator.decide(entryID: entry.id, fields: entry.fields) { job in
            known = messages.carriage(of: job)
            return known != nil
        }
        switch decision {
        case .accept(let job): accept(job, known, entry)
        case .reject(let job, let reason): reject(entry, job: job, reason: reason)
        }
    }

    private func accept(_ job: Job, _ known: Carriage?, _ entry: StreamEntry) {
        let configuration = project.configuration
        let takes = scheduler.canTake && project.blockReason == nil && !project.isHeld
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
        call.connection = project.connection
        call.nowMs = project.toldMs
        let carriage: Carriage
        // A message that has no counterpart on the project's transport is refused before anything is sent.
        do throws(TranslationError) {
            carriage = if let known { known } else { try Carriage(call.spec, job: job.id, project: project.project) }
        } catch {
            return reject(entry, job: job.id, reason: error.reason)
        }
        if known == nil { messages.note(job, carriage) }
        let handOver = HandOver(entry: entry, call: call, carriage: carriage, askedAt: project.loop.now, name: name)
        project.durable.gather(call.command(project.keys), as: .intake) { [weak self] result in
            self?.handedOver(handOver, result)
        }
    }

    private func handedOver(_ handOver: HandOver, _ result: Result<RedisValue, RedisError>) {
        switch result {
        case .failure(let error):
            if failedAt.map({ project.loop.now > $0 + 1_000_000_000 }) ?? true {
                project.logger.warning(
                    "Entries cannot be handed over yet.",
                    metadata: ["entry": "\(handOver.entry.id)", "error": "\(error)"]
                )
            }
            return failed(handOver.entry)
        case .success(let value):
            let reply = IntakeReply(value)
            if let outcome = reply?.outcome { project.meters.took(outcome) }
            switch reply {
            case .taken(let epoch, let permits):
                project.permits.lent(permits, askedAt: handOver.askedAt)
                // Taken under a name that is dead meanwhile, it is for others.
                if handOver.name == project.leaseName {
                    planner.taken(handOver.call, handOver.carriage, epoch: epoch)
                }
            case .queued: scheduler.askLater(0)
            case .reject(let reason): return reject(handOver.entry, job: handOver.call.job.id, reason: reason)
            case .gone, .duplicate, .done: break
            case nil:
                project.logger.error("Redis answered intake with something else: are the functions this version's?")
            }
            finished(handOver.entry)
        }
    }

    private func reject(_ entry: StreamEntry, job: String, reason: String) {
        project.logger.notice("A job was rejected.", metadata: ["job": "\(job)", "reason": "\(reason)"])
        let command = FunctionLibrary.reject(
            project.keys,
            entryID: entry.id,
            job: job,
            reason: reason,
            keepMs: project.configuration.keepJobMs,
            fields: entry.fields
        )
        project.redis.send(command) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error):
                project.logger.warning("A rejection could not be written yet.", metadata: ["error": "\(error)"])
                failed(entry)
            case .success(let value):
                if value.array?.first?.string == "rejected" { project.meters.took(.rejected) }
                finished(entry)
            }
        }
    }
}

/// An entry on its way to its job's own keys.
private final class HandOver {
    let entry: StreamEntry
    let call: IntakeCall
    let carriage: Carriage
    let askedAt: UInt64
    /// The name that it is taken under.
    let name: String

    init(entry: StreamEntry, call: IntakeCall, carriage: Carriage, askedAt: UInt64, name: String) {
        self.entry = entry
        self.call = call
        self.carriage = carriage
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
