internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Warns once a minute about each registered project that has jobs and no worker: no worker of its own can report it.
///
/// It does not run in a cluster, where a worker is connected to the nodes of its own projects only.
final class UnservedWatch {
    private let loop: EventLoop
    private let redis: any CommandConnection
    private let prefix: String
    /// The projects that this worker serves.
    var own: Set<String>
    private let logger: Logger
    private var notices: [String: ConditionNotice] = [:]
    /// Since when each project's oldest job waits, as the dashboard says it, Unix milliseconds.
    private var begins: [String: Int64] = [:]

    private static let everyMs: Int64 = 15_000
    private static let maximumProjects = 200

    init(loop: EventLoop, redis: any CommandConnection, configuration: WorkerConfiguration, logger: Logger) {
        self.loop = loop
        self.redis = redis
        self.logger = logger
        prefix = configuration.prefix
        own = Set(configuration.projects.map(\.id))
    }

    func start() {
        loop.every(milliseconds: Self.everyMs) { [weak self] in self?.check() }
    }

    func check() {
        guard redis.state == .ready else { return }
        redis.send(RedisCommand("SMEMBERS", ProjectKeys.projects(prefix: prefix))) { [weak self] result in
            guard let self, let members = (try? result.get())?.array else { return }
            let others = members.compactMap(\.string).filter { !own.contains($0) }
            notices = notices.filter { others.contains($0.key) }
            begins = begins.filter { others.contains($0.key) }
            for project in others.prefix(Self.maximumProjects) where ProjectID.isValid(project) {
                readOverview(of: project)
            }
        }
    }

    private func readOverview(of project: String) {
        redis.send(FunctionLibrary.overview(ProjectKeys(prefix: prefix, project: project))) { [weak self] result in
            guard let self, let overview = (try? result.get()).flatMap({ OverviewReply($0) }) else { return }
            guard overview.isUnserved else { return report(project, overview) }
            readWait(of: project, overview)
        }
    }

    private func readWait(of project: String, _ overview: OverviewReply) {
        let call = FunctionLibrary.fleet(ProjectKeys(prefix: prefix, project: project), most: 1)
        redis.send(call) { [weak self] result in
            guard let self else { return }
            let waitMs = (try? result.get()).flatMap { NamedValues($0) }?.count("oldest_ms") ?? 0
            // If workers have begun every job, the last of them died: when is not known.
            begins[project] = waitMs > 0 ? overview.nowMs - waitMs : begins[project] ?? overview.nowMs
            report(project, overview)
        }
    }

    private func report(_ project: String, _ overview: OverviewReply) {
        let isUnserved = overview.isUnserved
        let since = CalendarTime(unixMs: begins[project] ?? overview.nowMs).rfc3339
        switch notices[project, default: ConditionNotice(patienceSeconds: 5)].observe(isUnserved, now: loop.now) {
        case .warn:
            logger.warning(
                "A project has jobs and no worker: add it to a worker's configuration, or cancel its jobs.",
                metadata: ["project": "\(project)", "jobs": "\(overview.jobsToServe)", "since": "\(since)"]
            )
        case .recover:
            logger.notice(
                "The project has a worker, or no jobs.",
                metadata: ["project": "\(project)", "since": "\(since)"]
            )
        case nil: break
        }
        if !isUnserved { begins[project] = nil }
    }
}

extension OverviewReply {
    /// Jobs that need a worker now.
    fileprivate var jobsToServe: Int64 { entries + open - scheduled }
    fileprivate var isUnserved: Bool { jobsToServe > 0 && workersAlive == 0 }
}
