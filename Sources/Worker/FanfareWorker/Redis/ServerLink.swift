internal import EventLoop
internal import FanfareCore
internal import FanfareMetrics
internal import FanfareModel
internal import HTTPLanes
internal import Logging
internal import RedisTransport
internal import StreamWire

/// This worker's connections to one Redis server, one for commands and one or two that read, and the projects on them.
///
/// All projects share one link to a single server, or to the primary that Sentinels name. In a cluster each project has a
/// link of its own, since its slot may move without the others.
final class ServerLink {
    let redis: any CommandConnection
    let reader: SplitReader
    private(set) var runners: [ProjectRunner] = []
    /// The runners that need ticks: all of a thousand quiet ones would take most of an idle worker's time.
    private var awake: [ProjectRunner] = []
    /// Projects that were closed and may be opened again.
    private var closedProjects: [String: ClosedProject] = [:]
    private let loop: EventLoop
    private let configuration: WorkerConfiguration
    private let leases: LeaseTable
    private let quarantine: Quarantine
    private let pools: PoolGroup
    private let tokenConnections: TokenConnections
    private let registry: MetricRegistry
    private let logger: Logger
    private var isStarted = false
    private var session = ServerSession()
    private let queue = ActionQueue<ServerAction>()
    private var lossReports = LogThrottle(seconds: 10)
    private var notice = ConditionNotice(patienceSeconds: 5)
    private let sentinelsAgree: GaugeCell?
    private let quietWatch: QuietWatch
    private let timers: SharedTimers
    private var countTimer: TimerID?
    private var runnersByID: [String: ProjectRunner] = [:]
    /// What is left of opening the projects on this connection.
    private var openings = OpeningPlan(hasResults: [])
    /// Called when Redis is back after it was away.
    var onReconnected: () -> Void = {}
    /// See ``Reclaimer/onLost``.
    var onLost: (_ worker: String, _ project: String, _ batches: Int64) -> Void = { _, _, _ in }

    /// - Parameters:
    ///   - projects: in a cluster only one, to whose slot the link connects.
    ///   - connection: makes the connection with a name; nil: to the configured server.
    init(
        loop: EventLoop,
        configuration: WorkerConfiguration,
        projects: [WorkerConfiguration.Project],
        leases: LeaseTable,
        quarantine: Quarantine,
        pools: PoolGroup = PoolGroup(),
        tokenConnections: TokenConnections = TokenConnections(),
        registry: MetricRegistry,
        logger: Logger,
        connection: ((_ name: String) -> any CommandConnection)? = nil
    ) throws {
        self.loop = loop
        self.configuration = configuration
        self.leases = leases
        self.quarantine = quarantine
        self.pools = pools
        self.tokenConnections = tokenConnections
        self.registry = registry
        self.logger = logger
        sentinelsAgree = configuration.usesSentinels ? registry.gauge(MetricCatalogue.sentinelsAgree) : nil
        let key = projects.first.map { ProjectKeys(prefix: configuration.prefix, project: $0.id).base }
        func connect(_ name: String) -> any CommandConnection {
            if let connection { return connection(name) }
            return RedisConnection(
                loop: loop,
                deployment: configuration.redis,
                key: key,
                requiresWholeSlot: true,
                name: name,
                tls: configuration.tls
            )
        }
        redis = connect("fanfare-worker")
        reader = SplitReader(loop: loop, consumer: configuration.name, logger: logger, connect: connect)
        timers = SharedTimers(loop: loop)
        quietWatch = QuietWatch(redis: redis, prefix: configuration.prefix, leaseMs: configuration.leaseMs)
        quietWatch.runners = { [weak self] in self?.runners ?? [] }
        quietWatch.runner = { [weak self] in self?.runner(of: $0) }
        for project in projects { try open(project) }
    }

    /// Begins to serve a project, at any time.
    ///
    /// - Throws: why its credential cannot be used.
    @discardableResult
    func open(_ project: WorkerConfiguration.Project) throws -> ProjectRunner {
        let context = ProjectContext(
            loop: loop,
            redis: redis,
            configuration: configuration,
            project: project,
            leases: leases,
            quarantine: quarantine,
            pools: pools,
            tokenConnections: tokenConnections,
            timers: timers,
            registry: registry,
            logger: logger
        )
        let runner = try ProjectRunner(context: context, former: closedProjects[project.id])
        closedProjects[project.id] = nil
        leases.open(project.id)
        quarantine.add(project.id)
        runners.append(runner)
        awake.append(runner)
        context.onQuietChange = { [weak self, weak runner] in
            guard let self, let runner else { return }
            awake.removeAll { $0 === runner }
            if runner.needsTicks { awake.append(runner) }
        }
        runnersByID[project.id] = runner
        runners.first?.context.isFirst = true
        reader.add(runner)
        runner.intake.onHandedOver = { [weak self] in self?.reader.readIfPossible() }
        runner.reclaimer.onLost = { [weak self] worker, batches in self?.onLost(worker, project.id, batches) }
        guard isStarted else { return runner }
        runner.start()
        if isLoaded { runner.connected(isSameServer: true) } else { handle(.projectOpened) }
        return runner
    }

    /// Ends a drained project. Nothing of it is in flight, or what is stays in doubt.
    ///
    /// What the project's next runner needs is kept until ``forgetClosedProjects(except:)``.
    func close(_ runner: ProjectRunner) {
        runner.close()
        closedProjects[runner.id] = runner.session.remains
        reader.remove(runner)
        runners.removeAll { $0 === runner }
        awake.removeAll { $0 === runner }
        if runnersByID[runner.id] === runner { runnersByID[runner.id] = nil }
        runners.first?.context.isFirst = true
        quarantine.remove(runner.id)
        leases.close(runner.id)
    }

    /// - Parameter ids: of projects that are opened again.
    func forgetClosedProjects(except ids: Set<String>) {
        closedProjects = closedProjects.filter { ids.contains($0.key) }
    }

    /// Whether the project was closed here and may be opened again.
    func hasClosed(_ id: String) -> Bool { closedProjects[id] != nil }

    var isLoaded: Bool { session.isLoaded }

    func runner(of project: String) -> ProjectRunner? { runnersByID[project] }

    /// Whether no project uses the link or will be opened again on it.
    var isUnused: Bool { runners.isEmpty && closedProjects.isEmpty }

    func start() {
        isStarted = true
        for runner in runners { runner.start() }
        redis.onStateChange = { [weak self] state in self?.changed(state) }
        redis.onFunctionMissing = { [weak self] in self?.handle(.functionMissing) }
        redis.connect()
        reader.start()
        _ = timers.every(milliseconds: ProjectRunner.tickMs) { [weak self] in
            for runner in self?.awake ?? [] { runner.tick() }
        }
        countTimer = loop.every(milliseconds: QuietWatch.everyMs) { [weak self] in self?.quietWatch.count() }
        if configuration.usesSentinels {
            loop.every(milliseconds: 1_000) { [weak self] in self?.checkSentinels() }
        }
    }

    private func checkSentinels() {
        guard isLoaded, let state = redis.sentinelState else { return }
        sentinelsAgree?.set(state.isConfirmed)
        let metadata: Logger.Metadata = [
            "answering": "\(state.answering)", "configured": "\(state.configured)", "primary": "\(redis.endpoint)",
        ]
        switch notice.observe(!state.isConfirmed, now: loop.now) {
        case .warn:
            logger.warning(
                "Too few Sentinels confirm the primary in use. Sending continues, but a failover may go unnoticed: check the Sentinels and the route to them.",
                metadata: metadata
            )
        case .recover: logger.notice("A majority of the Sentinels confirms the primary again.", metadata: metadata)
        case nil: break
        }
    }

    /// The link's state as status pages print it.
    var condition: String {
        if isLoaded { return "connected" }
        switch redis.state {
        case .connecting: return "connecting"
        case .ready: return session.condition.isEmpty ? "starting" : session.condition
        case .unavailable(let error): return "unavailable: \(error)"
        case .failed(let error): return "refused: \(error)"
        case .closed: return "closed"
        }
    }

    func close() {
        if let countTimer { loop.cancel(countTimer) }
        timers.close()
        redis.close()
    }

    private func changed(_ state: RedisState) {
        for runner in runners { runner.session.handle(.disconnected) }
        handle(state == .ready ? .connected : .disconnected)
        switch state {
        case .failed(let error):
            logger.error("Redis refuses this worker.", metadata: ["error": "\(error)"])
        case .unavailable(let error) where error.code == .moved || error.code == .ask:
            logger.notice(
                "A project's cluster slot moves to another node; the worker follows it.",
                metadata: metadata(error)
            )
        case .unavailable(let error):
            guard lossReports.admits(now: loop.now) else { break }
            logger.warning("Redis is not available.", metadata: metadata(error))
        default: break
        }
    }

    private func metadata(_ error: RedisError) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["error": "\(error)"]
        if configuration.redis.form == .cluster, let runner = runners.first { metadata["project"] = "\(runner.id)" }
        return metadata
    }

    func handle(_ event: ServerSession.Event) {
        session.handle(event, now: loop.now, into: &queue.actions)
        queue.perform { perform($0) }
    }

    private func perform(_ action: ServerAction) {
        switch action {
        case .load: loadFunctions()
        case .checkFunctions: checkFunctions()
        case .checkServer: checkServer()
        case .arm(let time):
            let (now, connection) = (loop.now, session.connection)
            loop.schedule(afterNanoseconds: time > now ? time - now : 0) { [weak self] in
                self?.handle(.timer(connection: connection))
            }
        case .reportReload:
            logger.error("Redis lacks functions of this worker's version; they are loaded again.")
        case .reportReplaced:
            logger.notice(
                "Redis was restarted or is another server; the results of the last seconds are handed in again."
            )
        case .reportReconnected: onReconnected()
        case .use(let isSameServer): use(isSameServer)
        }
    }

    private func use(_ isSameServer: Bool) {
        lossReports.reset()
        logger.info("The worker is connected.", metadata: ["worker": "\(configuration.name)"])
        if !isSameServer { for id in closedProjects.keys { closedProjects[id]?.missedFailover = true } }
        openings = OpeningPlan(hasResults: runners.map { !$0.isEmptyHanded(isSameServer: isSameServer) })
        openMore(runners, isSameServer: isSameServer)
        reader.readIfPossible()
    }

    /// Opens the next projects of this connection.
    private func openMore(_ runners: [ProjectRunner], isSameServer: Bool) {
        for place in openings.next(now: loop.now, isOpened: { runners[$0].isOpened }) {
            runners[place].connected(isSameServer: isSameServer, place: place)
        }
        guard !openings.isDone else { return }
        let connection = session.connection
        loop.schedule(afterMilliseconds: OpeningPlan.everyMs) { [weak self] in
            if let self, session.connection == connection { openMore(runners, isSameServer: isSameServer) }
        }
    }

    // MARK: The preparation

    /// Sends a command of the preparation. The answer of an earlier connection is ignored.
    private func send(
        _ command: RedisCommand,
        _ answer: @escaping (ServerLink, Result<RedisValue, RedisError>) -> ServerSession.Answer
    ) {
        let connection = session.connection
        redis.send(command) { [weak self] result in
            guard let self, session.connection == connection else { return }
            handle(.answered(answer(self, result), connection: connection))
        }
    }

    private func loadFunctions() {
        send(FunctionLibrary.load()) { _, result in
            guard case .failure(let error) = result else { return .functionsLoaded }
            return .loadFailed(isTransient: error.isTransient)
        }
    }

    private func checkFunctions() {
        guard let keys = runners.first?.context.keys else {
            return handle(.answered(.noProject, connection: session.connection))
        }
        // By a call that every worker may make: FUNCTION LIST is not among a worker's commands.
        send(FunctionLibrary.spec(keys, job: "-")) { link, result in
            guard case .failure(let error) = result else { return .functionsFound }
            if !error.isTransient {
                link.logger.error(
                    "Redis lacks Fanfare's functions, and this user may not load them: run `fanfare functions load` once as a deploy user.",
                    metadata: ["error": "\(error)", "library": "\(FunctionLibrary.name)"]
                )
            }
            return .functionsMissing(isTransient: error.isTransient)
        }
    }

    private func checkServer() {
        send(RedisCommand("INFO", "server", "memory")) { link, result in
            if case .failure(let error) = result, error.code != .noPerm { return .serverUnknown }
            // A user without the right to INFO skips the checks: the operator chose the user's rules.
            let server = ServerInfo((try? result.get())?.string ?? "")
            let remedy = server.remedy(knowsCluster: link.configuration.redis.form == .cluster)
            if let remedy {
                link.logger.error(
                    "Redis cannot be used with its present configuration, so no job is taken.",
                    metadata: ["remedy": "\(remedy)"]
                )
            }
            return .server(runID: server.runID, remedy: remedy)
        }
    }
}
