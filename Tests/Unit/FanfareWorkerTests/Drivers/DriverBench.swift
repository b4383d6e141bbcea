import FanfareConfiguration
import FanfareMetrics
import FanfareModel
import Logging
import RedisTransport
import StreamWire
import TestSupport

@testable import EventLoop
@testable import FanfareCore
@testable import FanfareWorker

/// The roles of one project over a connection that the test answers, in virtual time. The runner is not started: only
/// what the test calls happens.
final class DriverBench {
    let loop: EventLoop
    let redis = FakeConnection()
    let leases = LeaseTable(worker: "w", nonce: 0)
    let heard = HeardLog()
    let context: ProjectContext
    let runner: ProjectRunner

    var writer: FlushWriter { runner.writer }
    var claimer: Claimer { runner.claimer }
    var intake: Intake { runner.intake }

    /// The first name of the worker.
    static let name = "w.0.1"

    /// The connection is ready, the lease is held, and the batches were compared, unless the test says otherwise.
    init(
        isReady: Bool = true,
        url: String = "redis://localhost:1",
        project: WorkerConfiguration.Project = .legacy("p"),
        _ change: (inout Configuration) -> Void = { _ in }
    ) throws {
        loop = try EventLoop()
        var settings = Configuration()
        change(&settings)
        let configuration = WorkerConfiguration(
            settings: settings,
            redis: try RedisDeployment(url: url),
            projects: [project],
            name: "w"
        )
        context = ProjectContext(
            loop: loop,
            redis: redis,
            configuration: configuration,
            project: project,
            leases: leases,
            quarantine: Quarantine(projects: ["p"]),
            registry: MetricRegistry(),
            logger: heard.logger
        )
        runner = try ProjectRunner(context: context)
        guard isReady else { return }
        redis.becomeReady()
        leases.hold("p", until: .max)
        context.isReady = true
    }

    deinit { runner.close() }

    /// Has the session connected, and answers its calls. The claim that follows is in flight.
    func connect() {
        runner.session.handle(.connected(isSameServer: true))
        redis.answer(.status("OK"))
        redis.answer(.pairs(["freed": .integer(0), "lost": .array([])]))
        redis.answer(.pairs(["outcome": .text("ok"), "news_cursor": .text("0")]))
        _ = redis.removeNames()
        loop.advance()
    }

    /// The names of the commands that were sent since the last call, in their order.
    func sent() -> [String] {
        loop.advance()
        return redis.removeNames()
    }

    /// A flush of `results` results of the job's only batch.
    static func flush(_ job: String, results: Int = 1, late: Bool = false) -> Flush {
        let source = BatchSource(job: job, batch: "0", epoch: "1", isManagement: false)
        var call = RecordCall(source)
        call.late = late
        for index in 0..<results { call.results.append(index: index, status: .sent) }
        return Flush(slot: nil, source: source, call: call)
    }
}
