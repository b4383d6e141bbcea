internal import EventLoop
internal import FanfareCore
internal import Logging

/// Takes one running project to its end: it begins no new send, waits for the requests in flight under the old
/// settings, gives the unsent recipients back, and deregisters. Other projects continue meanwhile.
final class ProjectTransition {
    let runner: ProjectRunner
    private let loop: EventLoop
    private var plan: DrainPlan
    private let completion: () -> Void

    private static let checkMs: Int64 = 5

    /// - Parameter completion: called once, when the project can be closed.
    init(_ runner: ProjectRunner, drainMs: Int64, completion: @escaping () -> Void) {
        self.runner = runner
        self.completion = completion
        loop = runner.context.loop
        plan = DrainPlan(deadline: loop.now + UInt64(max(0, drainMs)) * 1_000_000)
    }

    func start() {
        runner.drain()
        check()
    }

    private func check() {
        let pending = runner.pending
        switch plan.next(pending, now: loop.now) {
        case .wait: return checkLater()
        case .warn:
            runner.context.logger.warning(
                "A project's drain timed out, but Redis has not confirmed its results: check Redis.",
                metadata: metadata(pending)
            )
            return checkLater()
        case .close(isLate: true):
            runner.context.logger.warning(
                "A project's drain timed out; the outcome of its requests in flight is unknown.",
                metadata: metadata(pending)
            )
        case .close(isLate: false): break
        }
        runner.leave(completion)
    }

    private func metadata(_ pending: DrainPlan.Pending) -> Logger.Metadata {
        ["waits_for": "\(pending.names.joined(separator: ", "))", "in_flight": "\(pending.requests)"]
    }

    private func checkLater() {
        loop.schedule(afterMilliseconds: Self.checkMs) { [weak self] in self?.check() }
    }
}
