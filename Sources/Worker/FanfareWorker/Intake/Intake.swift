internal import EventLoop
internal import FCMWire
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Checks what producers pushed and hands it over: to the queue, to this worker when it is one batch, or to `dead`.
/// ``IntakeMachine`` decides; this class calls Redis.
final class Intake {
    private let project: ProjectContext
    private let validator: IntakeValidator
    private let claimer: Claimer
    private let sends: SendDriver
    private var messages = ValidatedMessageCache()
    /// The last reply to a hand-over: the replies to one call are often equal.
    private var lastReply: (value: RedisValue, reply: IntakeReply?) = (.null, nil)
    private var machine = IntakeMachine<PendingEntry>()
    private let queue = ActionQueue<IntakeMachine<PendingEntry>.Action>()
    private var failureReports = LogThrottle(seconds: 1)
    private var rejectionReports = LogThrottle(seconds: 60)
    private let rejections = RejectionLog()
    private var audienceWarnings = AudienceWarnings()
    private var windows = SendWindows(rules: ZoneFiles.rules)

    /// Called when entries were handed over, so that reading may continue.
    var onHandedOver: () -> Void = {}

    init(project: ProjectContext, claimer: Claimer, sends: SendDriver) {
        self.project = project
        self.claimer = claimer
        self.sends = sends
        validator = IntakeValidator(
            project.project.traits,
            hasSenderID: project.project.senderID != nil,
            projectKeyTag: "{\(project.project.id)}",
            prefix: project.configuration.prefix
        )
    }

    /// No entry waits for its hand-over or is being handed over.
    var isIdle: Bool { machine.isIdle }

    /// How much may be read now.
    var demand: ReadPlan.Demand {
        var demand = machine.demand(now: project.loop.now)
        if !project.isReady || project.isDraining || project.pressure != nil { demand.room = 0 }
        return demand
    }

    var hasLeftovers: Bool { machine.hasLeftovers }

    func receive(_ entries: [StreamEntry]) {
        // No send begins on news that is older than a second, as a quiet project's is.
        if !entries.isEmpty, project.isQuiet { claimer.claim() }
        if !entries.isEmpty { project.endRest() }
        handle(.received(entries.map(PendingEntry.init)))
    }

    /// Entries of dead consumers now belong to this one.
    func leftoversFound() { handle(.leftoversFound) }

    /// The entries that are left over are being read.
    func leftoversReread() { handle(.leftoversReread) }

    private func handle(_ event: IntakeMachine<PendingEntry>.Event) {
        machine.handle(event, now: project.loop.now, into: &queue.actions)
        queue.perform { perform($0) }
    }

    private func perform(_ action: IntakeMachine<PendingEntry>.Action) {
        switch action {
        case .check(let entry): check(entry)
        case .reject(let entry, let reason): reject(entry, reason: reason)
        case .creditPermits(let permits, let entry): sends.handle(.permitsLent(permits, askedNs: entry.sentAt))
        case .activate(let entry, let epoch, let held): activate(entry, epoch: epoch, held: held)
        case .claim(let entry):
            claimer.claim(afterMs: 0)
            if let audience = entry.audience { warn(audience, of: entry) }
        case .count(let outcome): project.meters.count(outcome)
        case .reportUnreadable:
            project.logger.error("Redis answered intake with something else: are the functions this version's?")
        case .read: onHandedOver()
        }
    }

    /// A job of one batch was handed over to this worker: its spec is at hand.
    private func activate(_ entry: PendingEntry, epoch: String, held: String?) {
        guard let job = entry.sendJob else { return }
        // Redis has stored the call's window as the new batch's watermark.
        let window = project.machine.settings.window
        var claim = Claim(job: job.id, epoch: epoch, watermark: window, taken: entry.recipients)
        if let held {
            let entryID = entry.hasOwnID ? entry.entry.id : ""
            claim.compact = CompactJob(id: job.id, entryID: entryID, spec: job.spec, keepMs: entry.keepMs, held: held)
        }
        sends.handleAndSendSoon(.batchTaken(claim, job))
    }

    // MARK: Hand-over

    private func check(_ pending: PendingEntry) {
        let decision = validator.decide(entryID: pending.entry.id, fields: pending.entry.fields) { job in
            pending.adapter = messages.adapter(of: job)
            return pending.adapter != nil
        }
        switch decision {
        case .accept(let job):
            (pending.job, pending.hasOwnID) = (job.id, job.hasOwnID)
            handOver(pending, job)
        case .reject(let job, let reason):
            pending.job = job
            reject(pending, reason: reason)
        }
    }

    private func handOver(_ pending: PendingEntry, _ job: Job) {
        var call = call(for: job, pending)
        // A message that has no counterpart on the project's transport is rejected before anything is sent.
        do throws(TranslationError) {
            if pending.adapter == nil {
                let adapter = try ProtocolAdapter(call.spec, job: job.id, settings: project.machine.settings.protocols)
                messages.insert(job, adapter)
                pending.adapter = adapter
            }
        } catch {
            return reject(pending, reason: error.reason)
        }
        if let window = job.guards.sendWindow {
            do throws(EntryFault) { call.windowTimes = try windows.times(window, at: project.wallMs) } catch {
                return reject(pending, reason: error.reason)
            }
        }
        pending.sendJob = SendJob(
            id: job.id,
            spec: call.spec,
            settings: project.machine.settings.protocols,
            adapter: pending.adapter
        )
        (pending.recipients, pending.keepMs) = (call.recipients ?? [], call.keepMs)
        if job.target.kind.isBroadcast { pending.target = job.target }
        pending.sentAt = project.loop.now
        let leaseName = project.leaseName
        let short = project.knowsCompactJobs ? call.shortCall() : nil
        project.redis.append(short ?? call.command(project.keys), as: .intake) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error) where error.code.rawValue == IntakeReply.ending: handle(.postponed(pending))
            case .failure(let error):
                report("Entries cannot be handed over yet.", &failureReports, pending, error)
                handle(.failed(pending))
            case .success(let value):
                let reply = reply(value)
                if reply == .queued { pending.audience = AudienceReply(value) }
                handle(.answered(pending, reply: reply, isOurs: leaseName == project.leaseName))
            }
        }
    }

    private func reply(_ value: RedisValue) -> IntakeReply? {
        if value != lastReply.value { lastReply = (value, IntakeReply(value)) }
        return lastReply.reply
    }

    private func call(for job: Job, _ pending: PendingEntry) -> IntakeCall {
        var call = IntakeCall(
            job: job,
            dedupeMs: project.configuration.dedupeMs,
            keepMs: project.configuration.keepJobMs,
            taker: claimer.canTake ? project.leaseName : nil,
            window: project.machine.settings.window,
            quotaPerMinute: project.project.quotaPerMinute,
            fanoutRate: project.project.fanoutRate,
            originals: pending.entry.fields
        )
        if call.recipients?.count == 1, !job.hasOwnID { call.keepMs = project.configuration.keepSingleJobMs }
        call.audience = AudienceEstimate(of: job, topics: project.project.topics)
        call.connection = project.connection
        call.nowMs = project.workerClockMs
        return call
    }

    private func warn(_ audience: AudienceReply, of entry: PendingEntry) {
        let name: String
        switch entry.target {
        case .topic(let topic)?: name = topic
        case .condition(let text)?: name = text
        case .tokens, .fids, .group, .audience, .recipients, nil: return
        }
        guard let sentence = audienceWarnings.sentence(audience.source, name: name, now: project.loop.now) else {
            return
        }
        project.logger.warning(
            "\(sentence)",
            metadata: [
                entry.target?.kind.rawValue ?? "": "\(name)", "estimate": "\(audience.size)", "job": "\(entry.job)",
            ]
        )
    }

    /// A job's send window has closed: Redis learns when it opens next.
    func windowClosed(_ job: String, window: String) {
        let times: WindowTimes
        do throws(EntryFault) { times = try windows.times(window, at: project.wallMs) } catch {
            guard rejectionReports.admits(now: project.loop.now) else { return }
            return project.logger.error(
                "This worker cannot tell when a job's send window opens.",
                metadata: ["job": "\(job)", "reason": "\(error.reason)"]
            )
        }
        project.redis.send(FunctionLibrary.setWindow(project.keys, job: job, times)) { _ in }
    }

    private func report(
        _ message: Logger.Message,
        _ throttle: inout LogThrottle,
        _ pending: PendingEntry,
        _ error: RedisError
    ) {
        project.meters.redisFailed()
        guard throttle.admits(now: project.loop.now) else { return }
        project.logger.warning(message, metadata: ["entry": "\(pending.entry.id)", "error": "\(error)"])
    }

    // MARK: Rejection

    private func reject(_ pending: PendingEntry, reason: String) {
        let command = FunctionLibrary.reject(
            project.keys,
            entryID: pending.entry.id,
            job: pending.job,
            reason: reason,
            keepMs: project.configuration.keepRejectedMs,
            fields: pending.entry.fields,
            undecodedNames: pending.entry.undecodedNames
        )
        project.redis.send(command) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error):
                project.redis.onRefused(error)
                report(
                    "Redis does not take a rejection; the entry stays in `jobs` and is tried again.",
                    &rejectionReports,
                    pending,
                    error
                )
                handle(.failed(pending))
            case .success(let value):
                let isNew = NamedValues(value)?.outcome == "rejected"
                if isNew { rejections.record(job: pending.job, reason: reason, project) }
                handle(.rejected(pending, isNew: isNew))
            }
        }
    }
}

/// Logs rejected jobs: at most one line a second, with the number of rejections that it leaves out.
private final class RejectionLog {
    private var burst = BurstLog()
    /// The last one that was counted only.
    private var last: Logger.Metadata = [:]

    private static let intervalMs: Int64 = 1_000

    func record(job: String, reason: String, _ project: ProjectContext) {
        let metadata: Logger.Metadata = ["job": "\(job)", "reason": "\(reason)"]
        guard burst.record() else { return last = metadata }
        project.logger.notice("A job was rejected.", metadata: metadata)
        awaitEnd(project)
    }

    private func awaitEnd(_ project: ProjectContext) {
        project.loop.schedule(afterMilliseconds: Self.intervalMs) { [self] in
            let count = burst.endInterval()
            guard count > 0 else { return }
            let metadata = last.merging(["count": "\(count)"]) { $1 }
            project.logger.notice(
                "More jobs were rejected; this is the last one. `fanfare dead ls` names all.",
                metadata: metadata
            )
            awaitEnd(project)
        }
    }
}

/// An entry on its way to its job's own keys.
private final class PendingEntry: IntakeEntry {
    let entry: StreamEntry
    let byteCount: Int
    /// The job's id, once the entry was checked.
    var job = ""
    var hasOwnID = false
    var adapter: ProtocolAdapter?
    /// The job, its recipients and the lifetime of its hash, once it is being handed over.
    var sendJob: SendJob?
    var recipients: RecipientList = []
    var keepMs: Int64 = 0
    /// Of a broadcast.
    var target: Target?
    /// Loop time of the hand-over.
    var sentAt: UInt64 = 0
    /// The audience as Redis estimates it; nil for a job that starts no fan-out inside FCM.
    var audience: AudienceReply?

    init(_ entry: StreamEntry) {
        self.entry = entry
        byteCount = entry.byteCount
    }
}
