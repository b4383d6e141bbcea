internal import EventLoop
internal import FanfareCore
internal import RedisTransport
internal import StreamWire

/// Asks Redis about rates that all workers share: those of single recipients, and that of operations on topics and groups.
final class RateClient {
    private let project: ProjectContext
    private static let retryMs: Int64 = 1_000

    var onAnswer: (SendEvent) -> Void = { _ in }

    init(project: ProjectContext) { self.project = project }

    func check(_ check: RateCheck) {
        let command = FunctionLibrary.pace(project.keys, recipient: check.name, nowMs: project.workerClockMs)
        project.redis.send(command) { [weak self] result in
            let waitMs = (try? result.get())?.integer ?? Self.retryMs
            self?.onAnswer(.rateChecked(check, waitMs: waitMs))
        }
    }

    /// FCM takes 3,000 operations a second of a project, whichever worker they come from, so Redis spaces them.
    func requestManagement(_ count: Int) {
        project.redis.send(FunctionLibrary.manage(project.keys, count: count)) { [weak self] result in
            guard let self else { return }
            let waitMs = (try? result.get())?.integer ?? Self.retryMs
            guard waitMs > 0 else { return onAnswer(.managementGranted(count)) }
            project.loop.schedule(afterMilliseconds: min(waitMs, Self.retryMs)) { [weak self] in
                guard let self, !project.isDraining else { return }
                requestManagement(count)
            }
        }
    }
}
