internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Adds what this worker did in one project to the project's history in Redis, every ten seconds.
final class HistoryRecorder {
    private let project: ProjectContext
    private let gauges: ProjectGauges
    private var plan = HistoryPlan()
    /// After the end of a slot of ten seconds, so that the workers of a fleet do not write at once.
    private static let delayMs = Int64.random(in: 100...1_500)
    private static let slotMs: Int64 = 10_000
    private static let timeoutMs: Int64 = 5_000

    init(project: ProjectContext, gauges: ProjectGauges) {
        self.project = project
        self.gauges = gauges
    }

    func start() {
        let wallMs = max(0, project.wallMs - Self.delayMs)
        project.loop.schedule(afterMilliseconds: Self.slotMs - wallMs % Self.slotMs) { [weak self] in
            guard let self else { return }
            write()
            start()
        }
    }

    /// Also called once before the worker deregisters.
    func write() {
        guard project.redis.state == .ready, project.isReady,
            let (number, record) = plan.next(&project.meters.history, isWaiting: gauges.isAnythingWaiting)
        else { return }
        let command = FunctionLibrary.writeHistory(
            project.keys,
            worker: project.leaseName,
            number: number,
            version: FanfareVersion.current,
            record
        )
        project.redis.send(command, timeoutMs: Self.timeoutMs) { [weak self] result in self?.answered(result) }
    }

    private func answered(_ result: Result<RedisValue, RedisError>) {
        switch result {
        case .success(let reply): plan.answered(isConfirmed: reply.string == "ok")
        case .failure(let error):
            plan.answered(isConfirmed: false)
            project.logger.debug("The history was not written.", metadata: ["error": "\(error)"])
        }
    }
}
