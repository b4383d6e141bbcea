internal import EventLoop
internal import FanfareCore
internal import FanfareMetrics
internal import FanfareModel
internal import HTTPLanes
internal import Logging
internal import RedisTransport
internal import StreamWire

/// This worker's connections to one Redis server, one for commands and one that reads, and the projects that use them.
///
/// All projects share one link to a single server, or to the primary that Sentinels name. In a cluster each project has a
/// link of its own, since its slot may move without the others.
final class ServerLink {
    let redis: any CommandConnection
    let reader: StreamReader
    private(set) var runners: [ProjectRunner] = []
    /// Projects that were closed and may be opened anew.
    private var closedProjects: [String: ClosedProject] = [:]
    private let loop: EventLoop
    private let configuration: WorkerConfiguration
    private let leases: LeaseTable
    private let quarantine: Quarantine
    private let pools: PoolGroup
    private let registry: MetricRegistry
    private let logger: Logger
    private var isStarted = false
    /// The server has the functions and a usable configuration; projects may work.
    private(set) var isLoaded = false
    /// Why the connected server cannot be used; empty if it can.
    private var hindrance = ""
    /// The server that was connected last.
    private var serverRunID: String?
    private var wasConnected = false
    /// Whether the functions are being loaded or the server is being checked. It ends with the connection.
    private var isPreparing = false
    /// Every call of a function reports that it is missing; the library is loaded again once in this time.
    private var reloads = LogThrottle(seconds: 2)
    /// The same where this user may not load functions and Redis has an older library, which lacks some of them.
    private var futileReloads = LogThrottle(seconds: 3_600)
    private var isReloadFutile = false
    /// The functions were lost, and not the connection.
    private var lacksFunctions = false
    private var outageReports = LogThrottle(seconds: 10)
    /// Changes of the connection's state so far.
    private var changes = 0
    private var notice = ConditionNotice(patienceSeconds: 5)
    private let sentinelsAgree: GaugeCell?
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
        registry: MetricRegistry,
        logger: Logger,
        connection: ((_ name: String) -> any CommandConnection)? = nil
    ) throws {
        self.loop = loop
        self.configuration = configuration
        self.leases = leases
        self.quarantine = quarantine
        self.pools = pools
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
        reader = StreamReader(
            loop: loop,
            connection: connect("fanfare-reader"),
            consumer: configuration.name,
            logger: logger
        )
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
            registry: registry,
            logger: logger
        )
        let runner = try ProjectRunner(context: context, former: closedProjects[project.id])
        closedProjects[project.id] = nil
        leases.open(project.id)
        quarantine.add(project.id)
        runners.append(runner)
        runners.first?.context.isFirst = true
        reader.add(runner)
        runner.intake.onHandedOver = { [weak self] in self?.reader.readIfPossible() }
        runner.reclaimer.onLost = { [weak self] worker, batches in self?.onLost(worker, project.id, batches) }
        guard isStarted else { return runner }
        runner.start()
        if isLoaded {
            runner.connected(isSameServer: true)
        } else if redis.state == .ready {
            prepare()
        }
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
        runners.first?.context.isFirst = true
        quarantine.remove(runner.id)
        leases.close(runner.id)
    }

    /// - Parameter ids: of projects that are opened anew.
    func forgetClosedProjects(except ids: Set<String>) {
        closedProjects = closedProjects.filter { ids.contains($0.key) }
    }

    /// Whether the project was closed here and may be opened anew.
    func hasClosed(_ id: String) -> Bool { closedProjects[id] != nil }

    /// Whether no project uses the link or will be opened anew on it.
    var isUnused: Bool { runners.isEmpty && closedProjects.isEmpty }

    func start() {
        isStarted = true
        for runner in runners { runner.start() }
        redis.onStateChange = { [weak self] state in self?.changed(state) }
        redis.onFunctionMissing = { [weak self] in self?.reloadFunctions() }
        redis.connect()
        reader.start()
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
                "Too few Sentinels confirm the primary in use. Sending goes on, but a failover may go unnoticed: check the Sentinels and the route to them.",
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
        case .ready: return hindrance.isEmpty ? "starting" : hindrance
        case .unavailable(let error): return "unavailable: \(error)"
        case .failed(let error): return "refused: \(error)"
        case .closed: return "closed"
        }
    }

    func close() { redis.close() }

    private func changed(_ state: RedisState) {
        changes += 1
        for runner in runners { runner.session.handle(.disconnected) }
        isPreparing = false
        lacksFunctions = false
        if state != .ready { isLoaded = false }
        switch state {
        case .ready: prepare()
        case .failed(let error):
            logger.error("Redis refuses this worker.", metadata: ["error": "\(error)"])
        case .unavailable(let error) where error.code == .moved || error.code == .ask:
            logger.notice(
                "A project's cluster slot moves to another node; the worker follows it.",
                metadata: metadata(error)
            )
        case .unavailable(let error):
            guard outageReports.admits(now: loop.now) else { break }
            logger.warning("Redis is not available.", metadata: metadata(error))
        default: break
        }
    }

    private func metadata(_ error: RedisError) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["error": "\(error)"]
        if configuration.redis.form == .cluster, let runner = runners.first { metadata["project"] = "\(runner.id)" }
        return metadata
    }

    /// A call found that Redis lacks a function: `FUNCTION FLUSH`, an empty replica, or the library of an older worker.
    func reloadFunctions() {
        guard !isPreparing, redis.state == .ready else { return }
        guard isReloadFutile ? futileReloads.admits(now: loop.now) : reloads.admits(now: loop.now) else { return }
        logger.error("Redis lacks functions of this worker's version; they are loaded again.")
        prepare()
    }

    /// Prepares the server, unless that is in progress: loads the functions, checks the server, and lets the projects
    /// work.
    private func prepare() {
        guard !isPreparing else { return }
        isPreparing = true
        loadFunctions()
    }

    /// Loads the functions. A user without that right relies on a deploy user who has loaded them.
    private func loadFunctions() {
        send(FunctionLibrary.load()) { link, result in
            if case .failure(let error) = result { return link.checkFunctions(mayLoad: error.isTransient) }
            link.isReloadFutile = false
            link.checkServer()
        }
    }

    /// - Parameter mayLoad: whether loading them may succeed later.
    private func checkFunctions(mayLoad: Bool) {
        guard let keys = runners.first?.context.keys else {
            // The next project that is opened begins again.
            isPreparing = false
            return
        }
        // By a call that every worker may make: FUNCTION LIST is not among a worker's commands.
        send(FunctionLibrary.spec(keys, job: "-")) { link, result in
            if case .success = result {
                link.isReloadFutile = !mayLoad
                return link.checkServer()
            }
            link.isReloadFutile = false
            if case .failure(let error) = result, !error.isTransient {
                link.lacksFunctions = link.lacksFunctions || link.isLoaded
                link.isLoaded = false
                link.hindrance = "lacks Fanfare's functions"
                link.logger.error(
                    "Redis lacks Fanfare's functions, and this user may not load them: run `fanfare functions load` once as a deploy user.",
                    metadata: ["error": "\(error)", "library": "\(FunctionLibrary.name)"]
                )
            }
            link.repeatStep(afterMs: 2_000) { $0.loadFunctions() }
        }
    }

    private func checkServer() {
        send(RedisCommand("INFO", "server", "memory")) { link, result in
            if case .failure(let error) = result, error.code != .noPerm {
                return link.repeatStep(afterMs: 500) { $0.checkServer() }
            }
            // A user without the right to INFO skips the checks: the operator chose the user's rules.
            link.check(ServerInfo((try? result.get())?.string ?? ""))
        }
    }

    private func check(_ server: ServerInfo) {
        if let remedy = server.remedy(knowsCluster: configuration.redis.form == .cluster) {
            hindrance = "cannot be used: \(remedy)"
            logger.error(
                "Redis cannot be used with its present configuration, so no job is taken.",
                metadata: ["remedy": "\(remedy)"]
            )
            return repeatStep(afterMs: 5_000) { $0.checkServer() }
        }
        // Without a run id it counts as another server: writing results again does no harm.
        let isSameServer = !wasConnected || (server.runID != nil && serverRunID == server.runID)
        if !isSameServer, server.runID != nil {
            logger.notice(
                "Redis was restarted or is another server; the results of the last seconds are handed in again."
            )
        }
        if wasConnected, !isLoaded, !lacksFunctions { onReconnected() }
        lacksFunctions = false
        wasConnected = true
        serverRunID = server.runID
        isLoaded = true
        isPreparing = false
        outageReports.reset()
        hindrance = ""
        logger.info("The worker is connected.", metadata: ["worker": "\(configuration.name)"])
        if !isSameServer { for id in closedProjects.keys { closedProjects[id]?.missedFailover = true } }
        for runner in runners { runner.connected(isSameServer: isSameServer) }
        reader.readIfPossible()
    }

    /// Sends a command of the preparation. The answer of an earlier connection is ignored: a reconnection begins again.
    private func send(
        _ command: RedisCommand,
        _ body: @escaping (ServerLink, Result<RedisValue, RedisError>) -> Void
    ) {
        let connection = changes
        redis.send(command) { [weak self] result in
            guard let self, changes == connection else { return }
            body(self, result)
        }
    }

    private func repeatStep(afterMs pause: Int64, _ body: @escaping (ServerLink) -> Void) {
        // While projects work, the next command that fails begins again.
        guard !isLoaded else {
            isPreparing = false
            return
        }
        let connection = changes
        loop.schedule(afterMilliseconds: pause) { [weak self] in
            guard let self, changes == connection else { return }
            body(self)
        }
    }
}
