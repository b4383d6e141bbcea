/// One call of a batch, kept until Redis has answered it.
final class Flush {
    let batch: HeldBatch
    let request: RecordRequest
    let count: Int

    init(batch: HeldBatch, request: RecordRequest) {
        self.batch = batch
        self.request = request
        count = request.results.count + request.retries.count
    }
}

/// What became of recipients: gathered for a few milliseconds, then one atomic call a batch.
extension Runner {
    func result(_ letter: Letter, _ position: Int, of batch: HeldBatch) {
        guard batch.close(position) else { return }
        touch(batch)
        batch.pending.results.append(
            RecordRequest.Result(
                position: position,
                index: batch.index(position),
                letter: letter,
                isDuplicate: batch.histories[position].isMaybeDuplicate
            )
        )
        uncommitted += 1
        flushIfFull(batch)
    }

    func handOn(_ position: Int, dueMs: Int64, of batch: HeldBatch) {
        guard batch.close(position) else { return }
        touch(batch)
        // A fenced worker decides nothing: its recipients belong to the batch's new holder.
        if !batch.isFenced {
            batch.pending.retries.append(
                RecordRequest.Retry(
                    position: position,
                    index: batch.index(position),
                    dueMs: dueMs,
                    history: batch.histories[position]
                )
            )
            uncommitted += 1
        }
        flushIfFull(batch)
    }

    func watermark(_ upto: Int, of batch: HeldBatch) {
        batch.requested = upto
        touch(batch)
        batch.pending.upto = upto
        flush(batch)
    }

    /// Every send of a batch has begun: the first pass needs no slot for its answers.
    func writeProgress() {
        for batch in held
        where !batch.isSentReported && !batch.isFenced && !batch.name.isRetry && !batch.hasUnsent && !batch.isStopped {
            guard batch.ending == .none, batch.open > 0 else { continue }
            batch.isSentReported = true
            touch(batch)
            batch.pending.isSent = true
        }
    }

    func touch(_ batch: HeldBatch) {
        if !batch.isDirty {
            batch.isDirty = true
            dirty.append(batch)
        }
        guard !isFlushDue else { return }
        isFlushDue = true
        world.schedule(.flush(self, incarnation: process.incarnation), at: world.now + 5_000)
    }

    private func flushIfFull(_ batch: HeldBatch) {
        if batch.pending.count >= 16 || batch.open == 0 { flush(batch) }
    }

    func flushAll() {
        let batches = dirty
        dirty = []
        for batch in batches where batch.isDirty { flush(batch) }
    }

    private func flush(_ batch: HeldBatch) {
        batch.isDirty = false
        var pending = batch.pending
        batch.pending = HeldBatch.Pending()
        if batch.isFenced {
            uncommitted -= pending.retries.count
            pending.retries = []
        }
        submit(pending, batch, isLate: batch.isFenced)
    }

    private func submit(_ pending: HeldBatch.Pending, _ batch: HeldBatch, isLate: Bool) {
        var request = RecordRequest(name: batch.name, epoch: batch.epoch, lease: leaseName)
        request.isLate = isLate
        request.results = pending.results
        batch.unanswered += 1
        batch.calls += 1
        if isLate {
            for at in request.results.indices { request.results[at].isDuplicate = true }
        } else {
            request.number = batch.calls
            request.isFinish = batch.open == 0 && batch.unanswered == 1
            request.upto = pending.upto
            request.isSent = pending.isSent
            request.retries = pending.retries
            request.holdMs = pending.holdMs
        }
        if !isLate {
            batch.handedIn.results += pending.results
            batch.handedIn.retries += pending.retries
        }
        let flush = Flush(batch: batch, request: request)
        flushes.append(flush)
        world.send(.record(request), from: self, flush: flush)
    }

    func confirmed(_ call: Call) {
        guard let flush = call.flush, let at = flushes.firstIndex(where: { $0 === flush }),
            case .record(let reply) = call.reply
        else { return }
        if reply == .failed {
            let event = Simulation.Event.recordAgain(self, flush, incarnation: process.incarnation)
            return world.schedule(event, at: world.now + 100_000)
        }
        flushes.remove(at: at)
        let batch = flush.batch
        batch.unanswered -= 1
        uncommitted -= flush.count
        switch reply {
        case .ok:
            if let upto = flush.request.upto { batch.authorised = max(batch.authorised, upto) }
            if flush.request.isFinish { batch.isClosed = true }
            closeIfDone(batch)
        case .stale:
            batch.isFenced = true
            if !flush.request.isLate, !flush.request.results.isEmpty {
                // Facts are accepted from anyone: handed in again, marked as possible duplicates.
                uncommitted += flush.request.results.count
                var facts = HeldBatch.Pending()
                facts.results = flush.request.results
                submit(facts, batch, isLate: true)
            }
        case .gone: batch.isFenced = true
        case .failed: break
        case .incomplete:
            let all = batch.handedIn
            batch.handedIn = HeldBatch.Pending()
            uncommitted += all.count
            submit(all, batch, isLate: false)
        }
        giveBackIfQuiet(batch)
        sweep()
        pump()
    }

    /// Repeats a call that Redis answered with an error. A lost connection is ``connected()``'s matter.
    func recordAgain(_ flush: Flush) {
        guard process.data.isReady, flushes.contains(where: { $0 === flush }) else { return }
        world.send(.record(flush.request), from: self, flush: flush)
    }

    /// Writes the end of a batch whose last recipient was reported in a call that could not say so yet.
    func closeIfDone(_ batch: HeldBatch) {
        guard batch.open == 0, !batch.isClosed, !batch.isFenced, batch.unanswered == 0, !batch.isDirty else { return }
        submit(HeldBatch.Pending(), batch, isLate: false)
    }

    func released(_ name: BatchName) {
        held.first { $0.name == name && $0.isReleasing }?.isReleased = true
        sweep()
    }
}
