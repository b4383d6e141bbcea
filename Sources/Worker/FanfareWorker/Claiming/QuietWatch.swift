internal import EventLoop
internal import FanfareCore
internal import RedisTransport
internal import StreamWire

/// Counts in Redis what the projects of one server have to do while they are quiet, as ``QuietPlan`` says.
final class QuietWatch {
    private let redis: any CommandConnection
    private let prefix: String
    private var plan: QuietPlan
    private let queue = ActionQueue<QuietPlan.Action>()
    /// The projects of the server.
    var runners: () -> [ProjectRunner] = { [] }
    var runner: (_ project: String) -> ProjectRunner? = { _ in nil }

    static let everyMs: Int64 = 200

    init(redis: any CommandConnection, prefix: String, leaseMs: Int64) {
        self.redis = redis
        self.prefix = prefix
        plan = QuietPlan(leaseMs: leaseMs, everyMs: Self.everyMs)
    }

    /// Called every ``everyMs``.
    func count() {
        guard redis.state == .ready else { return handle(.disconnected) }
        handle(.due(quiet: runners().filter(\.context.isQuiet).map(\.id)))
    }

    private func handle(_ event: QuietPlan.Event) {
        plan.handle(event, into: &queue.actions)
        queue.perform { perform($0) }
    }

    private func perform(_ action: QuietPlan.Action) {
        switch action {
        case .count(let sign, let projects):
            redis.send(command(sign, projects.map { ProjectKeys(prefix: prefix, project: $0) })) { [weak self] result in
                switch result {
                case .success(let value): self?.handle(.counted(sign, projects, count: value.integer))
                case .failure(let error):
                    self?.handle(.counted(sign, projects, count: error.isTransient ? 0 : nil))
                }
            }
        case .claim(let project): runner(project)?.claimer.claim(afterMs: 0)
        }
    }

    private func command(_ sign: QuietPlan.Sign, _ projects: [ProjectKeys]) -> RedisCommand {
        switch sign {
        case .keys: JobStream.countSigns(projects)
        case .entries: JobStream.countEntries(projects[0])
        }
    }
}
