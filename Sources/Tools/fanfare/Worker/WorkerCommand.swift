internal import ArgumentParser
internal import CoreMetrics
internal import EventLoop
internal import FanfareConfiguration
internal import FanfareMetrics
internal import FanfareModel
internal import FanfareTelemetry
internal import FanfareWorker
internal import FoundationEssentials
internal import Glibc
internal import Instrumentation
internal import Logging
internal import RedisTransport

struct WorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Runs one worker process.",
        discussion: """
            Sends the jobs of the configured projects and writes results. Start as many workers as you need, on as many \
            machines: they share the work through Redis and take over each other's batches.

            SIGTERM and SIGINT drain: the worker starts no new send, waits for sends in flight (worker.drain_ms) and \
            gives the rest back. A second signal ends the process at once, without losing anything.

            SIGHUP reads the configuration again; a changed file is also noticed within 10 seconds. Projects are added, \
            changed and removed without a restart. A terminal that closes sends SIGHUP, too, so it does not end the worker.

            Exits with 0 after a drain, and with 78 if the configuration cannot be used. If Redis or FCM cannot be reached, \
            it logs that and tries again until it can.

            Examples:
              fanfare worker -c fanfare.yaml
              fanfare worker -c fanfare.yaml --exit-when-idle
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Option(help: .value("text", "Name of this process among the workers; unique in the fleet."))
    var name: String?

    @Option(name: .customLong("max-in-flight"), help: .value("n", "Sends in flight at once, per project."))
    var maximumInFlight: String?

    @Option(
        help: .value("level", "Lowest level: trace, debug, info, notice, warning, error or critical."),
        completion: Words.logLevels.completion
    )
    var logLevel: String?

    @Option(help: .value("format", "text or json."), completion: .list(["text", "json"]))
    var logFormat: String?

    @Option(help: .value("host:port", "Address of /metrics, /healthz and /readyz."))
    var adminListen: String?

    @Flag(help: "Drain and exit once every job is over; for scripts.")
    var exitWhenIdle = false

    func run() async throws {
        // A signal that arrives while the worker starts must not end it.
        let hangUps = HangUps()
        let source = options.source([
            "worker.name": name, "worker.max_in_flight": maximumInFlight, "log.level": logLevel,
            "log.format": logFormat,
            "admin.listen": adminListen,
        ])
        ProcessMemory.makePrivate()
        ProcessMemory.returnLargeBlocks()
        let (state, files) = try LoadedState.first(source)
        let (configuration, secrets, redis) = (state.configuration, state.secrets, state.redis)
        try configuration.confirmMetadataServer(secrets)
        let logger = LogOutput.logger(configuration.log)
        logger.info("The configuration was read.", metadata: ["file": "\(configuration.file ?? "none")"])
        let concerns = redis.concerns().map { "redis.url: \($0.text); \($0.remedy)" }
        for warning in EqualCauses.joined(configuration.warnings + secrets.warnings + concerns) {
            logger.warning("Configuration warning; run `fanfare config check`.", metadata: ["what": "\(warning)"])
        }
        let registry = MetricRegistry()
        // Metrics of the process's libraries go into the same registry.
        MetricsSystem.bootstrap(RegistryMetricsFactory(registry: registry))
        ProcessMeters.register(in: registry, version: FanfareVersion.current)
        let settings = WorkerConfiguration(configuration, secrets: secrets, redis: redis, exitWhenIdle: exitWhenIdle)
        let telemetry = try startTelemetry(configuration, secrets, settings.name, registry, logger)
        // After the worker, whose last spans it sends.
        defer { telemetry?.stop() }
        let worker = Worker(
            configuration: settings,
            logger: logger,
            registry: registry,
            notifier: ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        )
        let admin = ProcessAdmin(worker.status, secrets.adminToken, registry, logger)
        // Runs until the process ends.
        Task { await admin.run(configuration.admin.listen) }
        let watcher = ConfigurationWatcher(
            source: source,
            hangUps: hangUps,
            worker: worker,
            logger: logger,
            meters: ReloadMeters(registry)
        )
        try watcher.start(from: state, files)
        let signals = StopSignals { worker.drain() }
        defer { signals.cancel() }
        let end: WorkerEnd
        do {
            end = try await worker.run()
        } catch let error as RedisError {
            throw RedisSession.outcome(error).because("Redis: \(error)")
        } catch {
            // A worker that refuses to start always has a wrong setting.
            throw Outcome.configuration.because("\(error)")
        }
        switch end {
        case .drained: logger.info("The worker has drained.")
        case .timedOut: logger.warning("The drain timed out; other workers take over the sends in flight.")
        }
    }

    /// Sends spans and metrics to the configured collector; nil if none is configured.
    private func startTelemetry(
        _ configuration: Configuration,
        _ secrets: Secrets,
        _ name: String,
        _ registry: MetricRegistry,
        _ logger: Logger
    ) throws -> TelemetryExporter? {
        guard let endpoint = configuration.telemetry.otlp else { return nil }
        let given = configuration.telemetry
        var resource = TelemetryResource(instance: name, version: FanfareVersion.current, prefix: configuration.prefix)
        if let name = given.serviceName { resource.service = name }
        resource.attributes = given.attributes.map { ($0.key, $0.value) }
        var settings = TelemetrySettings(endpoint: endpoint, intervalMs: given.intervalMs, resource: resource)
        let sampler = given.traceSampler
        settings.sampler = TraceSampler(followsParent: sampler.followsParent, ratio: sampler.ratio)
        settings.headers = secrets.telemetryHeaders
        settings.caFile = configuration.caFile?.path
        let telemetry = TelemetryExporter(settings: settings, registry: registry, logger: logger)
        InstrumentationSystem.bootstrap(telemetry.tracer)
        try telemetry.start()
        return telemetry
    }
}
