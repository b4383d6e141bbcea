internal import DequeModule
internal import EventLoop
internal import FanfareModel

/// Lanes and requests that end late: drained lanes, deadlines, stalls.
extension LanePool {
    // MARK: The end of lanes

    func retireMarked() {
        guard lanes.contains(where: { $0.state.phase == .retiring }) else { return }
        retiring += lanes.filter { $0.state.phase == .retiring }
        lanes.removeAll { $0.state.phase == .retiring }
    }

    func closeDrained() {
        retireMarked()
        guard retiring.contains(where: \.state.isDrained) else { return }
        var reason: Reason?
        for lane in retiring where lane.state.isDrained {
            close(lane)
            work.removeAll { $0 === lane }
            let state = lane.state
            planner.closed(answered: state.answered, refused: state.refused, nowMs: loop.nowMs)
            if state.answered == 0, let cause = lane.reason { reason = group.explained(cause) }
        }
        retiring.removeAll(where: \.state.isDrained)
        guard lanes.isEmpty, planner.nextOpeningMs > loop.nowMs else { return }
        // The origin is away for a while. Completed now, the requests wait with their owner, where waiting is durable.
        if retiring.isEmpty { completeQueue(reason: reason ?? Reason(.unreachable, "the origin cannot be reached")) }
        if opening == nil {
            opening = loop.schedule(afterMilliseconds: planner.nextOpeningMs - loop.nowMs + 1) { [unowned self] in
                opening = nil
                scheduleTurn()
            }
        }
    }

    // MARK: Deadlines

    func armSweep() {
        guard sweep == nil, inFlight > 0 || !queue.isEmpty else { return }
        sweep = loop.schedule(afterMilliseconds: Self.sweepMs) { [unowned self] in
            sweep = nil
            endLateRequests()
            scheduleTurn()
        }
    }

    func endLateRequests() {
        let now = loop.nowMs
        let late = queue.filter { $0.deadlineMs <= now }
        if !late.isEmpty { queue.removeAll { $0.deadlineMs <= now } }
        for waiting in late { complete(waiting, reason: group.waitReason(of: number)) }
        for lane in lanes + retiring { endLate(on: lane, now) }
        retireMarked()
        if let old = lanes.first(where: isTooOld) {
            old.state.retire()
            enlist(old)
        }
        armSweep()
    }

    func isTooOld(_ lane: Lane) -> Bool { loop.nowMs - lane.state.openedAtMs >= configuration.maximumConnectionAgeMs }

    func endLate(on lane: Lane, _ now: Int64) {
        guard let connection = lane.connection else { return }
        lane.state.advance(nowMs: now)
        connection.tick(nowMs: now)
        // All late requests of a lane end before the library runs again. Otherwise it would send held-back requests
        // into the streams that the first ones leave, only to have them cut off.
        for number in lane.numbers(where: { $1.waiting.deadlineMs <= now }) {
            cancel(number, on: lane, reason: Reason(.timeout, "no answer in time"), as: .timedOut)
        }
        let stallMs = configuration.stallMs
        let stalled = lane.numbers { now - $1.addedAtMs >= stallMs && connection.isHeldBack($0) }
        guard !stalled.isEmpty else { return }
        let back = lane.state.stalled(stalled.count, running: connection.running, nowMs: now)
        guard back > 0 else { return }
        if connection.running > 0, lane.state.phase == .ready, lane.state.serverLimit == nil {
            planner.lowerLimit(to: lane.state.limit)
        }
        for number in stalled.suffix(back) {
            let reason: Reason = "the lane did not send the request"
            _ = connection.cancel(number, reason: reason, as: .withdrawn)
            let waiting = release(number, from: lane, .withdrawn)
            queue.prepend(waiting.moved(isRefused: false, reason: reason))
        }
    }
}
