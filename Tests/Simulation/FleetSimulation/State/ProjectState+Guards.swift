internal import FanfareCore
internal import FanfareModel
internal import StreamWire

/// The library's guards of jobs; see guards.lua. Send windows are left out: they follow the time of the day.
extension ProjectState {
    /// A job that may not begin a send now; `untilMs` is nil when something else queues it again.
    struct Deferral { var untilMs: Int64? }

    /// Whether a queued or active job has to wait; see `defer_waiting`.
    func deferral(of job: JobRecord, isActive: Bool, isQueueEmpty: Bool, _ nowMs: Int64) -> Deferral? {
        guard var guards = job.guards, job.ending == .none else { return nil }
        let isAllClaimed = guards.limit.map { job.next >= $0 } ?? false
        if guards.hold != .none || (isAllClaimed && !isActive && guards.rate == nil && job.orphans.isEmpty) {
            return Deferral(untilMs: nil)
        }
        guard let (have, waitMs, cap) = guards.refill(quota: quota, nowMs) else { return nil }
        if waitMs == 0 || (isActive && isQueueEmpty) { return nil }
        let untilFull = (Double(waitMs) * (cap - have) / (1 - have)).rounded(.up)
        return Deferral(untilMs: nowMs + Int64(untilFull))
    }

    mutating func postpone(_ id: Int, _ deferral: Deferral) {
        dequeue(id)
        slot.release(id)
        jobs[id].isDeferred = true
        guard let untilMs = deferral.untilMs else { return }
        later[id] = min(later[id] ?? .max, untilMs)
    }

    /// Takes the slot from fan-outs that wait for their rate while others wait for the slot.
    mutating func yieldSlots(_ nowMs: Int64, referee: Referee) {
        for id in slot.active.map(\.turn.job) where !jobs[id].isPaused && !jobs[id].isParked {
            let isQueueEmpty = slot.waiting.isEmpty
            guard let found = deferral(of: jobs[id], isActive: true, isQueueEmpty: isQueueEmpty, nowMs) else {
                continue
            }
            referee.tally.yields += 1
            postpone(id, found)
        }
    }

    /// The watermark of a new batch; nil when none of its sends may begin.
    mutating func firstWatermark(_ id: Int, from: Int, count: Int, window: Int, _ nowMs: Int64, referee: Referee)
        -> Int?
    {
        guard jobs[id].ending == .none else { return 0 }
        guard jobs[id].guards != nil else { return window }
        let isQueueEmpty = slot.waiting.isEmpty
        let isActive = jobs[id].kind.takesTurns
        if let found = deferral(of: jobs[id], isActive: isActive, isQueueEmpty: isQueueEmpty, nowMs) {
            postpone(id, found)
            return nil
        }
        var most = min(window, count)
        if let limit = jobs[id].guards?.limit, !referee.breaks(.ignoreCanary) { most = min(most, limit - from) }
        if most > 0, let (have, _, cap) = jobs[id].guards?.refill(quota: quota, nowMs), !referee.breaks(.ignoreRate) {
            let held = Double(jobs[id].next) / Double(batchSize) - Double(jobs[id].passed)
            let isFull = held >= Double(jobs[id].guards?.maximumHeld(quota: quota) ?? .max)
            most = have < min(cap, Double(most)) || isFull ? 0 : min(most, Int(have))
            jobs[id].guards?.have = have - Double(most)
        }
        return most > 0 ? most : nil
    }

    // MARK: Flushes

    /// Applies the job's guards to a flush, and raises the batch's watermark; nil where neither says anything.
    mutating func applyGuards(
        _ request: RecordRequest,
        isOwned: Bool,
        isFirstTime: Bool,
        _ nowMs: Int64,
        referee: Referee
    ) -> GuardedReply? {
        let id = request.name.job
        let isGuarded = jobs[id].guards != nil
        var reply = GuardedReply()
        let known = batches[request.name]?.watermark ?? 0
        if let paused = judge(request, isFirstTime: isFirstTime, nowMs, referee: referee) {
            reply.paused = paused
            if paused == .canary { reply.reason = "canary" }
        }
        guard isOwned, let asked = request.call.watermark else { return isGuarded ? reply : nil }
        var granted = (watermark: known, waitMs: Int64(1_000))
        if isFirstTime { granted = raise(request.name, known, asked, nowMs, referee: referee) }
        batches[request.name]?.watermark = max(known, granted.watermark)
        if isGuarded, granted.watermark > known {
            batches[request.name]?.grants.append((granted.watermark, referee.now))
        }
        if granted.watermark < asked { (reply.watermark, reply.waitMs) = (granted.watermark, granted.waitMs) }
        return isGuarded || reply.watermark != nil ? reply : nil
    }

    private mutating func raise(_ name: BatchName, _ known: Int, _ asked: Int, _ nowMs: Int64, referee: Referee)
        -> (watermark: Int, waitMs: Int64)
    {
        let job = jobs[name.job]
        guard asked > known else { return (known, 0) }
        if job.isPaused || job.isParked, !referee.breaks(.raiseAfterStop) { return (known, 1_000) }
        guard var guards = job.guards, job.ending == .none else { return (asked, 0) }
        guard !name.isRetry else { return (asked, 0) }
        if guards.hold != .none { return (known, 1_000) }
        var most = asked
        var waitMs: Int64 = 100
        if let limit = guards.limit, !referee.breaks(.ignoreCanary) { most = min(most, limit - name.part * batchSize) }
        if let pace = guards.pace(quota: quota), !referee.breaks(.ignoreRate) {
            guard let (have, nextMs, cap) = guards.refill(quota: quota, nowMs) else { return (known, 100) }
            most = min(most, known + Int(have))
            waitMs = max(nextMs, min(250, Int64((cap / 2 / pace.perMs).rounded(.up))), 10)
            if most > known { guards.have = have - Double(most - known) }
        }
        guard most > known else { return (known, waitMs) }
        jobs[name.job].guards = guards
        return (most, most < asked ? waitMs : 0)
    }

    /// Adds first attempts to the sample; pauses the job when its condition holds or its canary has ended.
    private mutating func judge(_ request: RecordRequest, isFirstTime: Bool, _ nowMs: Int64, referee: Referee)
        -> PauseGuard?
    {
        let id = request.name.job
        guard var guards = jobs[id].guards, jobs[id].ending == .none, jobs[id].left > 0 else { return nil }
        if isFirstTime, guards.maximumFailed != nil {
            // The letters of failures; see FirstAttempt.swift.
            let hasFailed = request.call.firstAttempts.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
            guards.sample = (guards.sample + hasFailed).suffix(guards.sampleSize)
            jobs[id].guards = guards
        }
        guard guards.hold == .none else { return nil }
        let hasTried = guards.limit.map { isTried(jobs[id], $0) } ?? false
        let isStopped = jobs[id].isPaused || jobs[id].isParked
        if isStopped, !hasTried { return nil }
        if !jobs[id].isParked, guards.isBroken(isEndOfCanary: hasTried) {
            if hasTried { jobs[id].guards?.isCanaryOver = true }
            guard !isStopped else { return nil }
            jobs[id].isPaused = true
            jobs[id].stoppedAt = jobs[id].stoppedAt ?? referee.now
            referee.stopped(id, of: self)
            pauseByGuard(id, nowMs)
            return .stopIf
        }
        guard hasTried else { return nil }
        jobs[id].guards?.hold = isStopped ? .afterPause : .held
        if let waitMs = guards.canaryWaitMs {
            jobs[id].guards?.canaryUntilMs = nowMs + waitMs
            later[id] = min(later[id] ?? .max, nowMs + waitMs)
        }
        guard !isStopped else { return nil }
        referee.tally.canaries += 1
        pauseByGuard(id, nowMs)
        return .canary
    }

    /// Whether each recipient of the canary has its result or waits for a retry.
    private func isTried(_ job: JobRecord, _ limit: Int) -> Bool {
        let done = job.done[..<limit].count { $0 != .none }
        return done + job.waiting.count { ($0?.attempts ?? 0) > 0 } >= limit
    }

    private mutating func pauseByGuard(_ id: Int, _ nowMs: Int64) {
        jobs[id].isDeferred = true
        dequeue(id)
        slot.release(id)
        appendNews(.stop(epoch: nextEpoch(nowMs)), id, nowMs)
    }

    // MARK: Waits

    mutating func endCanary(_ id: Int) {
        jobs[id].guards?.hold = .none
        jobs[id].guards?.canaryUntilMs = nil
        jobs[id].guards?.isCanaryOver = true
        jobs[id].guards?.sample = []
        later[id] = nil
    }

    /// Queues jobs whose wait is over.
    mutating func applyLater(_ nowMs: Int64, referee: Referee) {
        for id in later.filter({ $0.value <= nowMs }).map(\.key).sorted() {
            later[id] = nil
            guard let guards = jobs[id].guards, jobs[id].isOpen, jobs[id].ending == .none else { continue }
            if guards.hold != .none, let untilMs = guards.canaryUntilMs {
                if untilMs <= nowMs { endCanary(id) } else { later[id] = untilMs }
            }
            if !jobs[id].isPaused, !jobs[id].isParked { restore(id, referee: referee) }
        }
    }
}
