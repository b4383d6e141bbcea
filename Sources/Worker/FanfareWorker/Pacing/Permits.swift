internal import EventLoop
internal import FanfareCore

/// This worker's share of the project's quota: permits lent by Redis in small blocks, good for a quarter of a second.
/// Without a permit nothing is sent.
final class Permits {
    private let loop: EventLoop
    private var purse = LeasedPermits()

    init(loop: EventLoop) { self.loop = loop }

    var available: Int { purse.available(now: loop.now) }

    /// - Parameter askedAt: loop time before the call that lent them.
    func lent(_ permits: Int, askedAt: UInt64) { purse.lent(permits, at: askedAt) }

    func take(_ permits: Int) -> Bool { purse.take(permits, now: loop.now) }

    /// What is not needed, to be given back with the next call.
    func takeBack(keep: Int) -> Int { purse.takeBack(keep: keep, now: loop.now) }

    /// Every send waits: what was lent is void.
    func drop() { purse = LeasedPermits() }
}
