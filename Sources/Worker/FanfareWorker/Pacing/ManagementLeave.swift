internal import EventLoop
internal import FanfareCore
internal import RedisTransport
internal import StreamWire

/// Leave to change subscriptions and groups: FCM takes 3,000 such operations a second of a project, whichever worker
/// they come from, so Redis spaces them. Asked for in blocks, one question at a time.
final class ManagementLeave {
    private let project: ProjectContext
    private var allowance = ManagementRateLimiter()
    private var isAsking = false
    /// Called when there is leave for something.
    var onGranted: () -> Void = {}

    init(project: ProjectContext) { self.project = project }

    /// Takes leave for so many operations; false when there is none yet, and it has been asked for.
    ///
    /// - Parameter ahead: operations that are waiting, these included.
    func take(_ count: Int, ahead: Int) -> Bool {
        switch allowance.take(count, ahead: ahead, now: project.loop.now) {
        case .go: return true
        case .ask(let wanted):
            ask(for: wanted)
            return false
        }
    }

    private func ask(for count: Int) {
        guard !isAsking else { return }
        isAsking = true
        project.redis.send(FunctionLibrary.manage(project.keys, count: count)) { [weak self] result in
            guard let self else { return }
            guard case .success(let value) = result, let waitMs = value.integer, waitMs <= 0 else {
                var waitMs: Int64 = 1_000
                if case .success(let value) = result, let asked = value.integer { waitMs = asked }
                return again(for: count, afterMs: waitMs)
            }
            isAsking = false
            allowance.grant(count, now: project.loop.now)
            onGranted()
        }
    }

    private func again(for count: Int, afterMs: Int64) {
        project.loop.schedule(afterMilliseconds: max(1, min(afterMs, 1_000))) { [weak self] in
            guard let self else { return }
            isAsking = false
            // Whoever wanted it may be gone; who still does comes by here again.
            if project.isDraining { return }
            ask(for: count)
        }
    }
}
