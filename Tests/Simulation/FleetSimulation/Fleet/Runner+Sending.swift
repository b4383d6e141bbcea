internal import FanfareCore
internal import FanfareModel

/// One send under way.
final class Flight {
    let runner: Runner
    let incarnation: Int
    let batch: HeldBatch
    let position: Int
    let startedAt: Int
    var answer: FCMModel.Answer = .accepted

    init(runner: Runner, batch: HeldBatch, position: Int, startedAt: Int) {
        self.runner = runner
        incarnation = runner.process.incarnation
        self.batch = batch
        self.position = position
        self.startedAt = startedAt
    }
}

extension Runner {
    /// Begins what may begin: single recipients first.
    func pump() {
        defer { writeProgress() }
        guard process.data.isReady, !process.isDraining, leaseHolds, !held.isEmpty,
            uncommitted < 4 * world.scenario.maxInFlight
        else { return }
        guard world.now >= heldUntil else { return wake(at: heldUntil) }
        for isFanout in [false, true] {
            for batch in held where batch.isFanout == isFanout && !send(from: batch) { return }
        }
    }

    private func wake(at time: Int) {
        guard time < wakeDue else { return }
        wakeDue = time
        world.schedule(.wake(self, incarnation: process.incarnation), at: time)
    }

    /// False when nothing more may be sent for now.
    private func send(from batch: HeldBatch) -> Bool {
        guard !batch.isFenced, !batch.isStopped, batch.ending == .none else { return true }
        if let upto = batch.watermarkToRequest(window: world.scenario.window) { watermark(upto, of: batch) }
        while inFlight < limit.limit {
            guard let position = batch.next() else { return true }
            guard !isExpired(batch.name.job) else {
                let history = batch.histories[position]
                result(history.isMaybeDuplicate ? .unknown : .expired, position, of: batch)
                continue
            }
            guard purse.available(now: localNow) > 0, accept.take(now: localNow), purse.take(1, now: localNow) else {
                batch.putBack(position)
                if let next = accept.nextAt(now: localNow) { wake(at: world.now + Int(next - localNow) / 1_000 + 1) }
                return false
            }
            guard begin(position, of: batch) else { return false }
            if let upto = batch.watermarkToRequest(window: world.scenario.window) { watermark(upto, of: batch) }
        }
        return false
    }

    private func isExpired(_ job: Int) -> Bool {
        let expires = world.redis.projects[project].value.jobs[job].expiresAtMs
        return expires > 0 && nowMs >= expires
    }

    /// False when the recipient took the process down.
    private func begin(_ position: Int, of batch: HeldBatch) -> Bool {
        let index = batch.index(position)
        if world.isPoison(project, batch.name.job, index) {
            world.crash(process, downFor: 200_000 + 100_000 * process.number)
            return false
        }
        world.referees[project].willSend(
            index,
            of: batch,
            lease: leaseName,
            isPathClear: world.isPathClear(process),
            in: world.redis.projects[project]
        )
        budget.sent(isRetry: batch.histories[position].attempts > 0, now: localNow)
        inFlight += 1
        batch.inFlight += 1
        world.transmit(Flight(runner: self, batch: batch, position: position, startedAt: world.now))
        return true
    }

    // MARK: Answers

    func completed(_ flight: Flight) {
        inFlight -= 1
        flight.batch.inFlight -= 1
        let batch = flight.batch
        let position = flight.position
        let latency = UInt64(world.now - flight.startedAt) * 1_000
        if case .unsent = flight.answer {
            if !process.isDraining, !batch.isFenced, !batch.isStopped, batch.ending == .none,
                batch.sendUnsentAgain(position)
            {
                return pump()
            }
            wait(Retry(failure: Self.failure, cause: .unsent, floorMs: 100, countsAttempt: false), flight)
            return after(batch)
        }
        var history = batch.histories[position]
        history.attempts += 1
        if history.attempts == 1 { history.firstMs = nowMs }
        batch.note(position, history)
        let isAtMostOnce = world.isAtMostOnce(project, batch.name.job)
        var isOverload = false
        countAnswer(flight.answer)
        switch flight.answer {
        case .accepted: result(.sent, position, of: batch)
        case .failed: result(.failed, position, of: batch)
        case .unsent: break
        case .busy(let retryAfterMs):
            isOverload = true
            if isAtMostOnce {
                result(.unknown, position, of: batch)
            } else {
                wait(retry(.answered, after: retryAfterMs), flight)
            }
        case .slowDown(let retryAfterMs):
            isOverload = true
            announce(retryAfterMs, batch)
            wait(retry(.answered, after: retryAfterMs), flight)
        case .lost where world.breaks(.refusedWithoutProof):
            wait(Retry(failure: Self.failure, cause: .unsent, floorMs: 100, countsAttempt: false), flight)
        case .lost:
            isOverload = true
            if isAtMostOnce {
                result(.unknown, position, of: batch)
            } else {
                history.isMaybeDuplicate = true
                batch.note(position, history)
                wait(retry(.unanswered, after: nil), flight)
            }
        }
        limit.answered(latencyNs: latency, inFlight: inFlight + 1, now: localNow, isOverload: isOverload)
        if !isOverload { accept.accepted() }
        after(batch)
    }

    private func countAnswer(_ answer: FCMModel.Answer) {
        switch answer {
        case .accepted, .failed, .slowDown: answers.add(refusedForMs: nil, now: localNow)
        case .busy(let retryAfterMs): answers.add(refusedForMs: retryAfterMs, now: localNow)
        case .lost, .unsent: return
        }
        if case .busy(.some) = answer {
            world.referees[project].answered(isRefused: true)
        } else {
            world.referees[project].answered(isRefused: false)
        }
    }

    private func after(_ batch: HeldBatch) {
        if batch.isStopped { giveBackIfQuiet(batch) }
        if batch.ending != .none { settleEnding(batch) }
        pump()
    }

    private static let failure = Failure(error: .unavailable, action: .none)

    private func retry(_ cause: Retry.Cause, after retryAfterMs: Int64?) -> Retry {
        Retry(
            failure: Self.failure,
            cause: cause,
            retryAfterMs: retryAfterMs,
            floorMs: world.scenario.retryBaseMs,
            isAmbiguous: cause == .unanswered
        )
    }

    private func announce(_ milliseconds: Int64, _ batch: HeldBatch) {
        hold(milliseconds: milliseconds)
        touch(batch)
        batch.pending.holdMs = max(batch.pending.holdMs, milliseconds)
    }

    private func wait(_ retry: Retry, _ flight: Flight) {
        let batch = flight.batch
        let position = flight.position
        let history = batch.histories[position]
        let decision = world.policy.decide(
            retry,
            attempts: history.attempts,
            firstAttemptMs: history.firstMs == 0 ? nowMs : history.firstMs,
            nowMs: nowMs,
            lifetimeMs: nil,
            expiresAtMs: world.redis.projects[project].value.jobs[batch.name.job].expiresAtMs,
            random: world.dice.unit()
        )
        switch decision {
        case .wait(let untilMs): handOn(position, dueMs: untilMs, of: batch)
        case .expired: result(history.isMaybeDuplicate ? .unknown : .expired, position, of: batch)
        case .giveUp: result(.failed, position, of: batch)
        case .unknown: result(.unknown, position, of: batch)
        }
    }

    // MARK: Without a send

    /// Recipients that an earlier worker may have sent to. At most once: their fate stays unknown. Otherwise they are
    /// sent again a little later, so that an answer that is still on its way can arrive first.
    func settleDoubtful(_ batch: HeldBatch) {
        let isAtMostOnce = world.isAtMostOnce(project, batch.name.job) && !world.breaks(.repeatAtMostOnce)
        guard batch.hasDoubtful else { return }
        let positions = batch.takeDoubtful()
        for position in positions {
            var history = batch.histories[position]
            history.attempts += 1
            if history.attempts == 1 { history.firstMs = nowMs }
            history.isMaybeDuplicate = !world.breaks(.forgetDoubt)
            batch.note(position, history)
            if isAtMostOnce {
                result(.unknown, position, of: batch)
            } else {
                handOn(position, dueMs: nowMs + 2_000, of: batch)
            }
        }
    }

    /// Its job is over before its time: what was not sent has its result without a send.
    func settleEnding(_ batch: HeldBatch) {
        for position in batch.takeDoubtful() { result(.unknown, position, of: batch) }
        for position in batch.takeAll() {
            result(batch.histories[position].isMaybeDuplicate ? .unknown : batch.ending, position, of: batch)
        }
        if batch.open == 0 { closeIfDone(batch) }
    }

    /// Its job was paused or parked, or we leave: what was not sent goes back.
    func stop(_ batch: HeldBatch) {
        guard batch.ending == .none else { return }
        batch.isStopped = true
        for position in batch.takeUnsentBelowWatermark() { handOn(position, dueMs: nowMs, of: batch) }
        giveBackIfQuiet(batch)
    }

    func giveBackIfQuiet(_ batch: HeldBatch) {
        guard batch.isStopped, !batch.isFenced, !batch.isReleasing, !batch.isReleased, batch.open > 0,
            batch.inFlight == 0, batch.unanswered == 0, !batch.isDirty, !process.isDraining, process.data.isReady
        else { return }
        batch.isReleasing = true
        world.send(.release(leaseName, batch.name, epoch: batch.epoch), from: self)
    }
}
