internal import EventLoop
internal import FanfareCore
internal import FanfareMetrics
internal import Logging
internal import OpenSSLKit
internal import RedisTransport
internal import StreamWire

/// One place in Redis as this worker uses it: a connection for work, one that reads, and the projects that live there.
///
/// One server, or the primary that Sentinels name, is one place for all projects. In a cluster each project has a place of
/// its own, since its slot may move without the others.
final class ServerLink {
    let redis: RedisConnection
    let reader: StreamReader
    let runners: [ProjectRunner]
    private let loop: EventLoop
    private let configuration: WorkerConfiguration
    private let logger: Logger
    /// The server has the functions and can be relied on; projects may work.
    private(set) var isLoaded = false
    /// Why Redis serves nobody though it is there; empty when it does.
    private var hindrance = ""
    /// Which run of which server was connected last.
    private var serverRun: String?
    private var wasConnected = false
    private var isLoading = false
    /// Loop time at which functions were last found missing.
    private var missedAt: UInt64?
    /// Loop time at which it was last said that Redis is away; 0 once it is back.
    private var saidAway: UInt64 = 0
    private static let repeatNs: UInt64 = 10_000_000_000
    /// Changes of the connection's state so far.
    private var changes = 0
    private var notice = SentinelNotice()
    private let sentinelsAgree: GaugeCell?
    /// Called when Redis is back after it was away.
    var onReconnected: () -> Void = {}

    /// - Parameters:
    ///   - key: in a cluster, a key of the slot that this is about.
    ///   - runners: makes the projects, which write over the connection that it is given.
    init(
        loop: EventLoop,
        configuration: WorkerConfiguration,
        tls: TLSOptions,
        key: String?,
        logger: Logger,
        registry: MetricRegistry = MetricRegistry(),
        runners: (RedisConnection) throws -> [ProjectRunner]
    ) rethrows {
        self.loop = loop
        self.configuration = configuration
        self.logger = logger
        sentinelsAgree = configuration.usesSentinels ? registry.gauge(MetricCatalogue.sentinelsAgree) : nil
        func connection(_ name: String) -> RedisConnection {
            RedisConnection(
                loop: loop,
                deployment: configuration.redis,
                key: key,
                name: name,
                tls: tls,
                timeouts: RedisTimeouts(),
                random: { Double.random(in: 0..<1) }
            )
        }
        redis = connection("fanfare-worker")
        self.runners = try runners(redis)
        reader = StreamReader(
            loop: loop,
            connection: connection("fanfare-reader"),
            consumer: configuration.name,
            projects: self.runners,
            logger: logger
        )
    }

    func start() {
        for runner in runners {
            runner.onFunctionsMissing = { [weak self] in self?.functionsAreMissing() }
            runner.intake.onHandedOver = { [weak self] in self?.reader.readIfPossible() }
            runner.start()
        }
        redis.onStateChange = { [weak self] state in self?.changed(state) }
        redis.connect()
        reader.start()
        if configuration.usesSentinels { checkSentinels() }
    }

    private func checkSentinels() {
        if isLoaded, let state = redis.sentinelState {
            sentinelsAgree?.set(state.isConfirmed)
            let metadata: Logger.Metadata = [
                "answering": "\(state.answering)", "configured": "\(state.configured)", "primary": "\(redis.endpoint)",
            ]
            switch notice.observe(isConfirmed: state.isConfirmed, now: loop.now) {
            case .warn:
                logger.warning(
                    "Too few Sentinels confirm the primary in use. Sending goes on, but a failover may go unnoticed: check the Sentinels and the route to them.",
                    metadata: metadata
                )
            case .recover: logger.notice("A majority of the Sentinels confirms the primary again.", metadata: metadata)
            case nil: break
            }
        }
        loop.schedule(afterMilliseconds: 1_000) { [weak self] in self?.checkSentinels() }
    }

    /// How it stands, in words for people.
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
        for runner in runners { runner.disconnected() }
        switch state {
        case .ready: loadFunctions()
        case .failed(let error):
            isLoaded = false
            isLoading = false
            logger.error("Redis refuses this worker.", metadata: ["error": "\(error)"])
        case .unavailable(let error) where error.code == .moved || error.code == .ask:
            isLoaded = false
            isLoading = false
            logger.notice("A project's slot of the cluster moves; the worker follows it.", metadata: about(error))
        case .unavailable(let error):
            isLoaded = false
            isLoading = false
            guard saidAway == 0 || loop.now >= saidAway + Self.repeatNs else { break }
            saidAway = loop.now
            logger.warning("Redis is not available.", metadata: about(error))
        default: break
        }
    }

    private func about(_ error: RedisError) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["error": "\(error)"]
        if configuration.redis.form == .cluster, let runner = runners.first { metadata["project"] = "\(runner.id)" }
        return metadata
    }

    /// All that a worker asks hears of it, so it is acted on once in a while.
    private func functionsAreMissing() {
        guard !isLoading, missedAt.map({ loop.now >= $0 + 2_000_000_000 }) ?? true else { return }
        missedAt = loop.now
        logger.error("Redis lacks functions of this worker's version; they are loaded again.")
        loadFunctions()
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
            if case .failure(let error) = result, !error.isTransient {
                hindrance = "lacks Fanfare's functions"
                logger.error(
                    "Redis lacks Fanfare's functions, and this user may not load them: run `fanfare functions load` once as a deploy user.",
                    metadata: ["error": "\(error)", "library": "\(FunctionLibrary.name)"]
                )
            }
            again(afterMs: 2_000) { $0.loadFunctions() }
        }
    }

    private func connected() {
        redis.send(RedisCommand("INFO", "server", "memory")) { [weak self] result in
            guard let self else { return }
            if case .failure(let error) = result, error.code != .noPerm {
                return again(afterMs: 500) { $0.connected() }
            }
            // A user that may not ask is a choice of whoever wrote its rules, who has to watch over the policy too.
            let server = ServerInfo((try? result.get())?.string ?? "")
            if let remedy = server.remedy(knowsCluster: configuration.redis.form == .cluster) {
                hindrance = "cannot be relied on: \(remedy)"
                logger.error(
                    "Redis cannot be relied on as it is, so no job is taken.",
                    metadata: ["remedy": "\(remedy)"]
                )
                return again(afterMs: 5_000) { $0.connected() }
            }
            // Who may not ask which run it is has to take it for another: what is handed in again does no harm.
            let isSameServer = !wasConnected || (server.run != nil && serverRun == server.run)
            if !isSameServer, server.run != nil {
                logger.notice("Redis was restarted or is another server; its last seconds are handed in again.")
            }
            if wasConnected, !isLoaded { onReconnected() }
            wasConnected = true
            serverRun = server.run
            isLoaded = true
            saidAway = 0
            hindrance = ""
            logger.info("The worker is connected.", metadata: ["worker": "\(configuration.name)"])
            for runner in runners { runner.connected(isSameServer: isSameServer) }
            reader.readIfPossible()
        }
    }

    private func again(afterMs pause: Int64, _ body: @escaping (ServerLink) -> Void) {
        let connection = changes
        loop.schedule(afterMilliseconds: pause) { [weak self] in
            // What a lost connection had begun, the next one begins by itself.
            guard let self, changes == connection, redis.state == .ready, !isLoaded else { return }
            body(self)
        }
    }
}
