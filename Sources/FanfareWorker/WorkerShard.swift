internal import EventLoop
internal import FanfareMetrics
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Everything that lives on one loop: its Redis connections, its projects, and the order in which they stop.
final class WorkerShard {
    private let loop: EventLoop
    private let configuration: WorkerConfiguration
    private let logger: Logger
    private let book: LeaseBook
    private let redis: RedisConnection
    private let reader: StreamReader
    private let runners: [ProjectRunner]
    private let monitor: Monitor
    /// Why Redis serves nobody though it is there; empty when it does.
    private var hindrance = ""
    private let finished: (WorkerEnd) -> Void
    private var drainDeadline: UInt64 = 0
    private var isDraining = false
    private var isLoaded = false
    /// Which run of which server was connected last.
    private var serverRun: String?
    private var isLoading = false
    private var idleRounds = 0

    init(
        loop: EventLoop,
        endpoint: RedisEndpoint,
        tls: TLSOptions,
        configuration: WorkerConfiguration,
        book: LeaseBook,
        watch: WorkerWatch,
        logger: Logger,
        finished: @escaping (WorkerEnd) -> Void
    ) throws {
        monitor = Monitor(loop: loop, registry: watch.registry, status: watch.status, notifier: watch.notifier)
        self.loop = loop
        self.configuration = configuration
        self.book = book
        self.logger = logger
        self.finished = finished
        func connection(_ name: String) -> RedisConnection {
            RedisConnection(
                loop: loop,
                endpoint: endpoint,
                name: name,
                tls: tls,
                timeouts: RedisTimeouts(),
                random: { Double.random(in: 0..<1) }
            )
        }
        redis = connection("fanfare-worker")
        let redis = redis
        let isolation = Isolation()
        runners = try configuration.projects.map { project in
            try ProjectRunner(
                context: ProjectContext(
                    loop: loop,
                    redis: redis,
                    configuration: configuration,
                    project: project,
                    book: book,
                    isolation: isolation,
                    registry: watch.registry,
                    logger: logger
                )
            )
        }
        reader = StreamReader(
            loop: loop,
            connection: connection("fanfare-reader"),
            consumer: configuration.name,
            projects: runners,
            logger: logger
        )
    }

    func start() {
        for runner in runners {
            runner.onFunctionsMissing = { [weak self] in
                self?.logger.error("Redis lost Fanfare's functions; they are loaded again.")
                self?.loadFunctions()
            }
            runner.intake.onHandedOver = { [weak self] in self?.reader.read() }
            runner.start()
        }
        redis.onStateChange = { [weak self] state in self?.changed(state) }
        monitor.snapshot = { [weak self] in self?.snapshot ?? WorkerStatus.Snapshot() }
        redis.connect()
        reader.start()
        monitor.start()
        if configuration.exitWhenIdle { watchForIdleness() }
    }

    func observed(_ report: Heartbeat.Report) {
        switch report {
        case .counters(let project, let counters):
            runners.first { $0.id == project }?.observed(counters)
        case .fenced(let project, let name):
            runners.first { $0.id == project }?.fenced(name: name)
        }
    }

    private var snapshot: WorkerStatus.Snapshot {
        for runner in runners { runner.gauges.look() }
        return WorkerStatus.Snapshot(
            redis: isLoaded ? "connected" : Self.words(redis.state, hindrance),
            isConnected: isLoaded,
            isDraining: isDraining,
            projects: runners.map { $0.gauges.status() }
        )
    }

    private static func words(_ state: RedisState, _ hindrance: String) -> String {
        switch state {
        case .connecting: return "connecting"
        case .ready: return hindrance.isEmpty ? "starting" : hindrance
        case .unavailable(let error): return "unavailable: \(error)"
        case .failed(let error): return "refused: \(error)"
        case .closed: return "closed"
        }
    }

    // MARK: Redis

    private func changed(_ state: RedisState) {
        for runner in runners { runner.disconnected() }
        switch state {
        case .ready: loadFunctions()
        case .failed(let error):
            isLoaded = false
            isLoading = false
            logger.error("Redis refuses this worker.", metadata: ["error": "\(error)"])
        case .unavailable(let error):
            isLoaded = false
            isLoading = false
            logger.warning("Redis is not available.", metadata: ["error": "\(error)"])
        default: break
        }
    }

    /// A worker that may, loads the functions. One that may not relies on a deploy user who did, and says so if not.
    private func loadFunctions() {
        guard !isLoading else { return }
        isLoading = true
        redis.send(FunctionLibrary.load()) { [weak self] result in
            guard let self else { return }
            isLoading = false
            if case .success = result { return connected() }
            checkFunctions()
        }
    }

    private func checkFunctions() {
        guard let keys = runners.first?.context.keys else { return }
        // Asked through a call that any worker may make: FUNCTION LIST is not among a worker's commands.
        redis.send(FunctionLibrary.spec(keys, job: "-")) { [weak self] result in
            guard let self else { return }
            if case .success = result { return connected() }
            if case .failure(let error) = result {
                hindrance = "lacks Fanfare's functions"
                logger.error(
                    "Redis lacks Fanfare's functions, and this user may not load them: run `fanfare functions load` once as a deploy user.",
                    metadata: ["error": "\(error)", "library": "\(FunctionLibrary.name)"]
                )
            }
            loop.schedule(afterMilliseconds: 2_000) { [weak self] in
                guard let self, redis.state == .ready, !isLoaded else { return }
                loadFunctions()
            }
        }
    }

    private func connected() {
        redis.send(RedisCommand("INFO", "server", "memory")) { [weak self] result in
            guard let self else { return }
            if case .failure(let error) = result, error.code != .noPerm {
                loop.schedule(afterMilliseconds: 500) { [weak self] in
                    guard let self, redis.state == .ready, !isLoaded else { return }
                    connected()
                }
                return
            }
            // A user that may not ask is a choice of whoever wrote its rules, who has to watch over the policy too.
            let server = ServerFacts((try? result.get())?.string ?? "")
            if let remedy = server.remedy {
                hindrance = "may drop jobs: \(remedy)"
                logger.error(
                    "Redis may drop what Fanfare rests on, so no job is taken.",
                    metadata: ["remedy": "\(remedy)"]
                )
                loop.schedule(afterMilliseconds: 5_000) { [weak self] in
                    guard let self, redis.state == .ready, !isLoaded else { return }
                    connected()
                }
                return
            }
            let isSameServer = serverRun == server.run || serverRun == nil
            if !isSameServer { logger.notice("Redis was restarted or replaced; its last seconds are handed in again.") }
            if serverRun != nil, !isLoaded { monitor.reconnected() }
            serverRun = server.run
            isLoaded = true
            hindrance = ""
            logger.info("The worker is connected.", metadata: ["worker": "\(configuration.name)"])
            for runner in runners { runner.connected(isSameServer: isSameServer) }
            reader.read()
        }
    }

    // MARK: Ending

    private func watchForIdleness() {
        loop.schedule(afterMilliseconds: 100) { [weak self] in
            guard let self, !isDraining else { return }
            let isIdle = isLoaded && reader.foundNothing && runners.allSatisfy { $0.isReady && $0.isIdle }
            idleRounds = isIdle ? idleRounds + 1 : 0
            // Two looks: a job may be between two roles at one of them.
            if idleRounds >= 3 { return drain() }
            watchForIdleness()
        }
    }

    func drain() {
        guard !isDraining else { return }
        isDraining = true
        logger.info("Draining.", metadata: ["worker": "\(configuration.name)"])
        drainDeadline = loop.now + UInt64(configuration.drainMs) * 1_000_000
        for runner in runners { runner.drain() }
        reader.stop()
        awaitDrained()
    }

    private func awaitDrained() {
        let isClean = runners.allSatisfy(\.isDrained)
        guard isClean || loop.now >= drainDeadline else {
            loop.schedule(afterMilliseconds: 5) { [weak self] in self?.awaitDrained() }
            return
        }
        if !isClean {
            logger.warning("The drain's time is over; what is on the wire is left in doubt.")
        }
        var waiting = runners.count
        for runner in runners {
            runner.leave { [weak self] in
                waiting -= 1
                if waiting == 0 { self?.close(isClean ? .drained : .timedOut) }
            }
        }
    }

    private func close(_ end: WorkerEnd) {
        for runner in runners { runner.close() }
        redis.close()
        loop.stop()
        finished(end)
    }
}
