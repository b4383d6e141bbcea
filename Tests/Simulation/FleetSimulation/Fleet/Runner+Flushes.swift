internal import FanfareCore
internal import StreamWire

/// A flush on its way to Redis, kept until Redis has answered it.
final class PendingFlush {
    let flush: Flush

    init(_ flush: Flush) { self.flush = flush }
}

/// Writes what the machine decides to write, and repeats what was not answered.
extension Runner {
    func write(_ flush: Flush) {
        let pending = PendingFlush(flush)
        flushes.append(pending)
        write(pending)
    }

    /// Writes a flush that is not answered, also once more.
    func write(_ pending: PendingFlush) {
        guard process.data.isReady, flushes.contains(where: { $0 === pending }) else { return }
        guard var request = RecordRequest(pending.flush.call, lease: leaseName) else {
            return world.referees[project].violate("a flush names no batch: \(pending.flush.call)")
        }
        if world.breaks(.forgetWatermarks) { request.upto = nil }
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
            handle(.flushed(pending.flush, .ok(abort: "")))
        case .stale: handle(.flushed(pending.flush, .stale))
        case .gone, .failed: handle(.flushed(pending.flush, .gone))
        }
    }

    /// The connection is new: first the facts that Redis may have forgotten, then the question what this worker holds,
    /// then the calls that would make an older state look like the newest.
    func writeAgain(isSameServer: Bool) {
        let unconfirmed = flushes
        if !isSameServer {
            for flush in replayBuffer.removeAll() { handle(.replay(flush)) }
        }
        reconcile(isSameServer: isSameServer)
        for pending in unconfirmed { write(pending) }
    }
}
