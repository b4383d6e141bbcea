internal import ArgumentParser
internal import CoreMetrics
internal import EventLoop
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareGateway
internal import FanfareHTTP
internal import FanfareMetrics
internal import FanfareModel
internal import FanfareWorker
internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import RedisTransport
internal import SocketTransport

struct GatewayRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Serves Google's APIs and Fanfare's own to producers.",
        discussion: """
            Pushes what producers send over HTTP, and answers with the results of the workers. Google's SDKs work with \
            another endpoint: it serves HTTP v1 (POST /v1/projects/PROJECT/messages:send), the legacy protocol (POST \
            /fcm/send, POST /gcm/send), topics (/iid), device groups (/fcm/notification) and log-in (POST /token). \
            Fanfare's own API is at /v1/projects/PROJECT/jobs; /openapi.json describes it. It needs a worker that serves \
            the project, and no credential of Google. Any number of gateways may run.

            Make a key for each producer with `fanfare gateway key add`. New and removed keys count within 10 seconds, and so \
            do changed projects, and another certificate for new connections. SIGHUP is not needed for that, and does not end \
            the gateway.

            SIGTERM and SIGINT stop: no connection is accepted, and requests that wait are answered. Exits with 0 after \
            that, with 78 if the configuration cannot be used, and with 69 if the address cannot be listened on.

            Examples:
              fanfare gateway -c fanfare.yaml
              fanfare gateway -c fanfare.yaml --listen 127.0.0.1:8470
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Option(help: .value("host:port", "Address to listen on, or unix:///path; port 0 takes a free port."))
    var listen: String?

    @Option(help: .value("host:port", "Address of /metrics, /healthz and /readyz."))
    var adminListen: String?

    func run() async throws {
        // A terminal that closes, or a habit of other servers, must not cut requests that wait.
        signal(SIGHUP, SIG_IGN)
        ProcessMemory.makePrivate()
        let source = options.source(["gateway.listen": listen, "gateway.admin_listen": adminListen])
        let configuration = try source.load()
        let (files, identity) = (try configuration.loadGateway(), try configuration.gateway.identity())
        let logger = LogOutput.boundedLogger(configuration.log)
        for concern in files.concerns { logger.warning("\(concern.sentence)") }
        if files.keys.keys.isEmpty {
            logger.warning(
                "No request is served: there is no key. Make one with `fanfare gateway key add NAME --project ID`."
            )
        }
        let deployment = try configuration.deployment()
        let registry = MetricRegistry()
        // Metrics of the process's libraries go into the same registry.
        MetricsSystem.bootstrap(RegistryMetricsFactory(registry: registry))
        ProcessMeters.register(in: registry, version: FanfareVersion.current)
        let health = GatewayHealth { SystemClock.bootNs }
        let admin = ProcessAdmin(health, files.adminToken, registry, logger)
        // Runs until the process ends.
        Task { await admin.run(configuration.gateway.adminListen) }
        let redis = try await Self.connect(deployment, configuration, health, logger)
        defer { redis.close() }
        let projects = GatewayProjectSettings(configuration)
        let gateway = try Self.gateway(configuration, projects, files.keys, identity, redis, registry, health, logger)
        let meters = ReloadMeters(registry)
        let first = GatewayReload(source, configuration, files.entries, identity, gateway, projects, meters, logger)
        let (stops, stop) = AsyncStream<Void>.makeStream()
        let signals = StopSignals { stop.yield() }
        defer { signals.cancel() }
        let watching = Task {
            var reload = first
            await reload.watch()
        }
        defer { watching.cancel() }
        try Self.checkSocket(configuration.gateway.listen)
        do {
            try await gateway.run(stops: stops) { port in
                logger.info(
                    "The gateway listens.",
                    metadata: ["address": "\(configuration.gateway.listen)", "port": "\(port)"]
                )
            }
        } catch let error as ListenError {
            throw Outcome.unavailable.because("gateway: \(error); choose another with --listen or gateway.listen")
        }
        logger.info("The gateway has stopped.")
    }

    /// Refuses a path that the server would remove: a file, or the socket of a process that still serves it.
    static func checkSocket(_ address: ListenAddress) throws {
        guard case .unix(let path) = address else { return }
        if SocketAddress.unix(path)?.isServed == true {
            let remedy = "choose another with --listen or gateway.listen"
            throw Outcome.unavailable.because("gateway: \(path) is taken by another program; \(remedy)")
        }
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK {
            throw Outcome.unavailable.because(
                "gateway: \(path) is not a socket; remove it or change gateway.listen"
            )
        }
    }

    /// Waits for a Redis that is away; wrong credentials end the command.
    private static func connect(
        _ deployment: RedisDeployment,
        _ configuration: Configuration,
        _ health: GatewayHealth,
        _ logger: Logger
    ) async throws -> RedisClient {
        while true {
            health.beat()
            do throws(RedisError) {
                return try await RedisSession.connect(deployment, configuration)
            } catch {
                let outcome = RedisSession.outcome(error)
                guard outcome == .unavailable else { throw outcome.because("Redis at \(deployment): \(error)") }
                logger.warning("Redis cannot be reached; it is tried again.", metadata: ["error": "\(error)"])
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    private static func gateway(
        _ configuration: Configuration,
        _ projects: GatewayProjectSettings,
        _ keys: KeyTable,
        _ identity: GatewayOptions.Identity?,
        _ redis: RedisClient,
        _ registry: MetricRegistry,
        _ health: GatewayHealth,
        _ logger: Logger
    ) throws -> Gateway {
        let given = configuration.gateway
        var options = GatewayOptions()
        switch given.listen {
        case .tcp(let host, let port):
            options.address = .tcp(host: host == "localhost" ? "127.0.0.1" : host, port: port)
        case .unix(let path): options.address = .unix(path: path)
        }
        (options.isBehindProxy, options.waitMs) = (given.isBehindProxy, given.waitMs)
        options.maximumConnections = given.maximumConnections
        options.prefix = configuration.prefix
        options.dedupeMs = configuration.retention.dedupeHours * 3_600_000
        options.identity = identity
        return try Gateway(
            options: options,
            keys: keys,
            redis: redis,
            registry: registry,
            health: health,
            logger: logger,
            inputs: GatewayInputs(
                maximumWaiting: given.maximumWaiting,
                mayBeApplied: { ($0 as? RedisError)?.maybeApplied ?? false },
                entryCheck: { projects.check(of: $0) },
                nowNs: { SystemClock.bootNs },
                nowSeconds: { SystemClock.nowMs / 1_000 },
                newJobID: Self.newJobID
            )
        )
    }

    /// 128 random bits.
    private static func newJobID() -> String {
        func word() -> String { String(UInt64.random(in: 0...UInt64.max), radix: 36) }
        return "gw-\(word())-\(word())"
    }
}
