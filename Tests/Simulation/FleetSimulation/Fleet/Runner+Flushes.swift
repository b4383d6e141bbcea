internal import FanfareCore
internal import StreamWire

/// A flush that Redis has not confirmed yet.
final class PendingFlush {
    let flush: Flush

    init(_ flush: Flush) { self.flush = flush }
}

/// Writes the machine's flushes and repeats unanswered ones.
extension Runner {
    func write(_ flush: Flush) {
        let pending = PendingFlush(flush)
        flushes.append(pending)
        write(pending)
    }

    /// Writes an unconfirmed flush, for the first time or again.
    func write(_ pending: PendingFlush) {
        guard process.data.isReady, flushes.contains(where: { $0 === pending }) else { return }
        guard var request = RecordRequest(pending.flush.call, lease: leaseName) else {
            return world.referees[project].violate("a flush has no valid batch: \(pending.flush.call)")
        }
        if world.breaks(.forgetWatermarks) { request.watermark = nil }
        world.send(.record(request), from: self, flush: pending)
    }

    func confirmed(_ call: Call) {
        guard let pending = call.flush, let at = flushes.firstIndex(where: { $0 === pending }),
            case .record(let reply) = call.reply
        else { return }
        if reply == .failed {
            let event = Simulation.Event.recordAgain(self, pending, incarnation: process.incarnation)
            return world.schedule(event, at: world.now + 100_000)
        }
        flushes.remove(at: at)
        switch reply {
        case .ok:
            replayBuffer.append(pending.flush, now: localNow)
            handle(.flushed(pending.flush, .ok()))
        case .granted(let guarded):
            replayBuffer.append(pending.flush, now: localNow)
            handle(.flushed(pending.flush, .ok(guarded: guarded)))
        case .stale: handle(.flushed(pending.flush, .stale))
        case .gone, .failed: handle(.flushed(pending.flush, .gone))
        }
    }

    /// Restores Redis' state on a new connection, in this order: replay results that Redis may have lost, reconcile the
    /// held batches, then repeat the unconfirmed calls. Earlier, those calls would hide that Redis lost state.
    func writeAgain(isSameServer: Bool) {
        let unconfirmed = flushes
        if !isSameServer {
            for flush in replayBuffer.removeAll() { handle(.replay(flush)) }
        }
        reconcile(isSameServer: isSameServer)
        for pending in unconfirmed { write(pending) }
    }
}
