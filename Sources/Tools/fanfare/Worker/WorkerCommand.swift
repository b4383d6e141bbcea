internal import ArgumentParser
internal import CoreMetrics
internal import EventLoop
internal import FanfareConfiguration
internal import FanfareMetrics
internal import FanfareModel
internal import FanfareWorker
internal import Foundation
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

            Examples:
              fanfare worker -c fanfare.yaml
              fanfare worker -c fanfare.yaml --exit-when-idle
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Option(help: ArgumentHelp("Name of this process among the workers; unique in the fleet.", valueName: "text"))
    var name: String?

    @Option(help: ArgumentHelp("Sends in flight at once, per project.", valueName: "n"))
    var maxInFlight: String?

    @Option(
        help: ArgumentHelp("Lowest level: trace, debug, info, notice, warning, error or critical.", valueName: "level"),
        completion: Completion.words(["trace", "debug", "info", "notice", "warning", "error", "critical"])
    )
    var logLevel: String?

    @Option(help: ArgumentHelp("text or json.", valueName: "format"), completion: Completion.words(["text", "json"]))
    var logFormat: String?

    @Option(help: ArgumentHelp("Address of /metrics, /healthz and /readyz.", valueName: "host:port"))
    var adminListen: String?

    @Flag(help: "Drain and exit once every job is over; for scripts.")
    var exitWhenIdle = false

    func run() async throws {
        let configuration = try options.load([
            "worker.name": name, "worker.max_in_flight": maxInFlight, "log.level": logLevel, "log.format": logFormat,
            "admin.listen": adminListen,
        ])
        let logger = LogOutput.logger(configuration.log)
        ProcessMemory.makePrivate()
        let secrets: Secrets
        do throws(ConfigurationError) {
            secrets = try configuration.loadCheckedSecrets()
        } catch {
            throw ConfigurationOptions.report(error)
        }
        let redis: RedisDeployment
        do throws(ConfigurationError) {
            redis = try configuration.deployment(secrets.redis)
        } catch {
            throw ConfigurationOptions.report(error)
        }
        let concerns = RedisExposure.concerns(redis).map { "redis.url: \($0.text); \($0.remedy)" }
        for warning in configuration.warnings + secrets.warnings + concerns {
            logger.warning("Configuration warning; run `fanfare config check`.", metadata: ["what": "\(warning)"])
        }
        let registry = MetricRegistry()
        // Metrics of the process's libraries go into the same registry.
        MetricsSystem.bootstrap(RegistryMetricsFactory(registry: registry))
        ProcessMeters.register(in: registry, version: FanfareVersion.current)
        let worker = Worker(
            configuration: WorkerConfiguration(
                configuration,
                secrets: secrets,
                redis: redis,
                exitWhenIdle: exitWhenIdle
            ),
            logger: logger,
            registry: registry,
            notifier: ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        )
        let admin = WorkerAdmin(
            configuration.admin,
            token: secrets.adminToken,
            status: worker.status,
            registry: registry,
            logger: logger
        )
        // Runs until the process ends.
        Task { await admin?.run() }
        let signals = StopSignals { worker.drain() }
        defer { signals.cancel() }
        switch try await start(worker) {
        case .drained: logger.info("The worker has drained.")
        case .timedOut: logger.warning("The drain timed out; other workers take over the sends in flight.")
        case .failed(let reason): throw Outcome.unavailable.because(reason)
        }
    }

    private func start(_ worker: Worker) async throws -> WorkerEnd {
        do {
            return try await worker.run()
        } catch let error as RedisError {
            throw RedisSession.outcome(error).because("Redis: \(error)")
        } catch {
            // A worker that refuses to start always has a wrong setting.
            throw Outcome.configuration.because("\(error)")
        }
    }
}
