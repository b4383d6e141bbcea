internal import EventLoop

/// Timers that all projects of a server share: equal intervals end in the same turn of the loop. A thousand projects with
/// timers of their own would wake the process a thousand times a second.
final class SharedTimers {
    struct ID: Hashable {
        fileprivate let intervalMs: Int64
        fileprivate let number: Int
    }

    private let loop: EventLoop
    private var timers: [TimerID] = []
    /// By interval, in the order in which they were added.
    private var bodies: [Int64: [(number: Int, body: () -> Void)]] = [:]
    private var nextNumber = 0

    init(loop: EventLoop) { self.loop = loop }

    /// Runs `body` again and again until ``cancel(_:)``, for the first time within the interval.
    func every(milliseconds intervalMs: Int64, _ body: @escaping () -> Void) -> ID {
        nextNumber += 1
        if bodies[intervalMs] == nil {
            let timer = loop.every(milliseconds: intervalMs) { [weak self] in
                for entry in self?.bodies[intervalMs] ?? [] { entry.body() }
            }
            timers.append(timer)
        }
        bodies[intervalMs, default: []].append((nextNumber, body))
        return ID(intervalMs: intervalMs, number: nextNumber)
    }

    func close() {
        for timer in timers { loop.cancel(timer) }
        (timers, bodies) = ([], [:])
    }

    /// In the turn in which it is cancelled a body may run once more.
    func cancel(_ id: ID) { bodies[id.intervalMs]?.removeAll { $0.number == id.number } }
}
