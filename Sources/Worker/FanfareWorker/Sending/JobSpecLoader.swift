internal import EventLoop
internal import FanfareCore
internal import RedisTransport
internal import StreamWire

/// Loads the specs of jobs whose batches were claimed; tries again until Redis answers.
final class JobSpecLoader {
    private let project: ProjectContext
    private static let retryMs: Int64 = 200

    var onAnswer: (SendEvent) -> Void = { _ in }

    init(project: ProjectContext) { self.project = project }

    func load(_ job: String) {
        project.redis.send(FunctionLibrary.spec(project.keys, job: job)) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let value):
                if let spec = JobSpec(value) { return onAnswer(.specLoaded(job: job, spec)) }
                onAnswer(value.array?.isEmpty == true ? .specMissing(job: job) : .specUnreadable(job: job))
            case .failure:
                project.meters.redisFailed()
                project.loop.schedule(afterMilliseconds: Self.retryMs) { [weak self] in self?.load(job) }
            }
        }
    }
}
