internal import EventLoop
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Turns claims into batches that can be sent: finds the job's spec, and settles what an earlier holder left in doubt.
final class Planner {
    private let project: ProjectContext
    private let dispatcher: Dispatcher
    private let settler: Settler
    private var jobs: [String: JobContext] = [:]
    /// Claims whose job's spec is being fetched.
    private var waiting: [String: [Claim]] = [:]
    /// Jobs whose spec this version cannot read: when that was last said.
    private var unreadable: [String: UInt64] = [:]
    private static let complaintNs: UInt64 = 60_000_000_000
    private static let mostComplaints = 1_000
    /// Claims that wait until nothing else runs in this process.
    private var quarantined: [Claim] = []
    private(set) var held: [ObjectIdentifier: ActiveBatch] = [:]

    init(project: ProjectContext, dispatcher: Dispatcher, settler: Settler) {
        self.project = project
        self.dispatcher = dispatcher
        self.settler = settler
    }

    var isIdle: Bool { held.isEmpty && waiting.isEmpty && quarantined.isEmpty }
    /// No claim is still on its way to becoming a batch.
    var isSettled: Bool { waiting.isEmpty && quarantined.isEmpty }

    /// The names of all batches that are held, for Redis to compare with what it thinks.
    var known: [FunctionLibrary.KnownBatch] {
        let active = held.values.filter { !$0.isFenced }.map {
            FunctionLibrary.KnownBatch(name: $0.name, call: $0.confirmedCall, upto: $0.requested)
        }
        return active
            + (waiting.values.joined() + quarantined).map {
                FunctionLibrary.KnownBatch(name: $0.name, call: 0, upto: 0)
            }
    }

    /// Redis does not have these batches as they were: what is known of them goes in as late facts.
    ///
    /// - Returns: how many of them Redis has forgotten; the others it may as well have closed.
    func lost(_ names: [String]) -> Int {
        let names = Set(names)
        var forgotten = 0
        for batch in held.values where names.contains(batch.name) {
            if !batch.mayBeClosed { forgotten += 1 }
            batch.isFenced = true
            dispatcher.remove(batch)
        }
        return forgotten + drop { names.contains($0.name) }.count
    }

    /// Forgets claims that have not become batches yet, and answers them.
    private func drop(_ isDropped: (Claim) -> Bool) -> [Claim] {
        let dropped = (waiting.values.joined() + quarantined).filter(isDropped)
        guard !dropped.isEmpty else { return [] }
        waiting = waiting.mapValues { $0.filter { !isDropped($0) } }
        quarantined.removeAll(where: isDropped)
        return dropped
    }

    /// A job of one batch, taken as it was handed over: its spec is at hand.
    func taken(_ call: IntakeCall, _ adapter: ProtocolAdapter, epoch: String) {
        let claim = Claim(job: call.job.id, epoch: epoch, upto: call.window, taken: call.recipients ?? [])
        activate(claim, context(call.job.id, call.spec, adapter))
    }

    func claimed(_ claims: [Claim]) {
        for claim in claims {
            guard claim.isQuarantined else {
                take(claim)
                continue
            }
            project.logger.warning(
                "A batch that took its workers down three times is run alone.",
                metadata: ["job": "\(claim.job)", "batch": "\(claim.batch)"]
            )
            quarantined.append(claim)
            project.quarantine.enter(project.project.id)
        }
    }

    /// Nothing else runs in this process now.
    func beginQuarantined() {
        let claims = quarantined
        quarantined = []
        for claim in claims { take(claim) }
    }

    private func take(_ claim: Claim) {
        if let context = jobs[claim.job] { return activate(claim, context) }
        let isFirst = waiting[claim.job] == nil
        waiting[claim.job, default: []].append(claim)
        if isFirst { fetchSpec(claim.job) }
    }

    private func fetchSpec(_ job: String) {
        project.redis.send(FunctionLibrary.spec(project.keys, job: job)) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let value):
                guard let spec = JobSpec(value) else {
                    // A job that ended meanwhile has no spec and needs none.
                    if value.array?.isEmpty == true { waiting[job] = nil } else { giveUp(unreadable: job) }
                    return
                }
                let claims = waiting.removeValue(forKey: job) ?? []
                guard !claims.isEmpty else { return }
                let context = context(job, spec)
                for claim in claims { activate(claim, context) }
            case .failure:
                project.meters.redisFailed()
                project.loop.schedule(afterMilliseconds: 200) { [weak self] in
                    self?.fetchSpec(job)
                }
            }
        }
    }

    /// A spec that a newer version wrote: its batches go back for a worker that can read it. After a second only, for
    /// they may well come here again.
    private func giveUp(unreadable job: String) {
        let now = project.loop.now
        if unreadable[job].map({ now >= $0 + Self.complaintNs }) ?? true {
            if unreadable.count >= Self.mostComplaints { unreadable = [:] }
            unreadable[job] = now
            project.logger.error(
                "This worker cannot read what the job needs, and leaves it to a newer version.",
                metadata: ["job": "\(job)"]
            )
        }
        project.loop.schedule(afterMilliseconds: 1_000) { [weak self] in
            guard let self else { return }
            for claim in waiting.removeValue(forKey: job) ?? [] {
                release(claim.name, claim.epoch, upto: claim.deliveries == 1 ? 0 : nil)
            }
            if isIdle { project.quarantine.leave(project.project.id) }
        }
    }

    private func context(_ id: String, _ spec: JobSpec, _ adapter: ProtocolAdapter? = nil) -> JobContext {
        if let known = jobs[id] { return known }
        let context = JobContext(id: id, spec: spec, project: project.project, adapter: adapter)
        jobs[id] = context
        return context
    }

    private func activate(_ claim: Claim, _ context: JobContext) {
        let batch = ActiveBatch(claim: claim, job: context)
        batch.isProbe = claim.isProbe
        if context.abort == nil, !claim.abort.isEmpty { context.abort = AbortCode.decode(claim.abort) }
        if let ending = claim.ending.flatMap(ResultStatus.init) { context.ending = ending }
        context.batches += 1
        held[ObjectIdentifier(batch)] = batch
        batch.startedAt = project.loop.now
        batch.span = project.tracer.begin(batch, project: project.project.id, deliveries: claim.deliveries)
        if claim.deliveries > 1 {
            project.meters.tookOver()
            project.logger.info(
                "A batch was taken over.",
                metadata: ["job": "\(claim.job)", "batch": "\(claim.batch)", "deliveries": "\(claim.deliveries)"]
            )
        }
        for position in batch.doubtful { settler.settleDoubtful(position, of: batch) }
        if context.ending != nil {
            finish(batch)
        } else if project.isDraining {
            // It came after the drain began: nothing of it was sent, and nobody should have to doubt that.
            for position in batch.takeUnsentBelowWatermark() { settler.giveBack(position, of: batch) }
        } else if batch.open == 0 {
            settler.close(batch)
        } else {
            dispatcher.add(batch)
        }
    }

    // MARK: What operators decide

    /// The job was paused or parked: what was claimed of it before goes back as soon as nothing of it is under way.
    func stop(_ job: String, epoch: Int64) {
        func isEarlier(_ text: String) -> Bool { Int64(text).map { $0 <= epoch } ?? true }
        for claim in drop({ $0.job == job && isEarlier($0.epoch) }) {
            // Nothing of it was sent. What an earlier holder may have sent, Redis knows.
            release(claim.name, claim.epoch, upto: claim.deliveries == 1 ? 0 : nil)
        }
        for batch in held.values where batch.job.id == job && !batch.isFenced && isEarlier(batch.epoch) {
            putBack(batch)
        }
        if isIdle { project.quarantine.leave(project.project.id) }
    }

    /// Nothing may be sent for a while: a batch that keeps everything else from running goes back.
    func giveUpAlone() {
        guard project.quarantine.holder == project.project.id else { return }
        for batch in held.values where !batch.isFenced { putBack(batch) }
    }

    /// This worker cannot send for a while, others can: all that was not sent goes back.
    func giveUpAll() {
        for batch in held.values where !batch.isFenced && batch.job.ending == nil { putBack(batch) }
    }

    /// The job ends: whoever has no result yet gets this one.
    func end(_ job: String, status: String) {
        guard let ending = ResultStatus(rawValue: status) else { return }
        for index in waiting[job, default: []].indices { waiting[job]?[index].ending = status }
        for index in quarantined.indices where quarantined[index].job == job { quarantined[index].ending = status }
        guard let context = jobs[job] else { return }
        context.ending = ending
        for batch in held.values where batch.job === context && !batch.isFenced { finish(batch) }
    }

    private func finish(_ batch: ActiveBatch) {
        dispatcher.remove(batch)
        for position in batch.takeUnsent() { settler.end(position, of: batch) }
        if batch.open == 0 { settler.close(batch) }
    }

    private func putBack(_ batch: ActiveBatch) {
        batch.isStopping = true
        dispatcher.remove(batch)
        for position in batch.takeUnsentBelowWatermark() { settler.giveBack(position, of: batch) }
        if batch.open == 0 { settler.close(batch) }
    }

    private func release(_ name: String, _ epoch: String, upto: Int? = nil) {
        let command = FunctionLibrary.release(
            project.keys,
            worker: project.leaseName,
            batch: name,
            epoch: epoch,
            upto: upto
        )
        project.redis.send(command) { _ in }
    }

    /// Lets go of batches that are over: closed and written, or lost to another worker with nothing left on the wire.
    func sweep() {
        var over: [ActiveBatch] = []
        for batch in held.values where batch.isQuiet {
            if batch.isStopping, !batch.isFenced, !batch.isClosed {
                // From here on it is somebody else's, whatever becomes of the call: a lost one is made good by the lease.
                release(batch.name, batch.epoch)
                batch.isFenced = true
            }
            if batch.isOver { over.append(batch) }
        }
        // Taken out only now: while it is gone through, the first to go would have all of it copied.
        for batch in over {
            held[ObjectIdentifier(batch)] = nil
            project.meters.letGo(batch.outcome, afterNs: project.loop.now - batch.startedAt)
            batch.span?.end(batch.outcome)
            batch.job.batches -= 1
            if batch.job.batches == 0 { jobs[batch.job.id] = nil }
        }
        if isIdle { project.quarantine.leave(project.project.id) }
    }

    /// This worker was declared dead: all that it held belongs to others.
    func fence() {
        for batch in held.values { batch.isFenced = true }
        waiting = waiting.mapValues { _ in [] }
        quarantined = []
        project.quarantine.leave(project.project.id)
    }
}
