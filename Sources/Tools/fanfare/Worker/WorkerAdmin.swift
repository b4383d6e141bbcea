internal import FanfareAdmin
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareMetrics
internal import FanfareModel
internal import FanfareWorker
internal import Logging

/// The admin server of a worker. The worker runs without it if its address is unavailable.
struct WorkerAdmin: Sendable {
    private let server: AdminServer
    private let address: AdminAddress
    private let logger: Logger

    /// A loop that was silent for longer is stalled: it reports four times a second.
    static let stalledMs: Int64 = 10_000

    /// nil if no address is configured.
    init?(
        _ configuration: Configuration.Admin,
        token: SecretText?,
        status: WorkerStatus,
        registry: MetricRegistry,
        logger: Logger
    ) {
        switch configuration.listen {
        case nil: return nil
        case .tcp(let host, let port)?: address = .tcp(host: host, port: port)
        case .unix(let path)?: address = .unix(path: path)
        }
        self.logger = logger
        server = AdminServer(
            address: address,
            token: token.map { BearerToken($0.value) },
            probes: AdminProbes(
                metrics: { PrometheusText.render(registry) },
                metricsType: PrometheusText.contentType,
                health: { Self.health(silentMs: status.silentMs) },
                readiness: { Self.readiness(status.current) }
            ),
            logger: logger
        )
    }

    /// Serves until the process ends. If the address is unavailable, logs that once and returns.
    func run() async {
        do {
            try await server.run { [logger] address in
                logger.info("The admin address listens.", metadata: ["address": "\(address)"])
            }
        } catch {
            logger.warning(
                "The admin address cannot be used; the worker runs without it.",
                metadata: ["address": "\(address)", "error": "\(error); choose another with admin.listen"]
            )
        }
    }

    static func health(silentMs: Int64) -> AdminReport {
        AdminReport(
            isGood: silentMs < stalledMs,
            details: ["silent_ms": .number(JSONNumber(silentMs))]
        )
    }

    static func readiness(_ status: WorkerStatus.Snapshot) -> AdminReport {
        var projects = JSONObject()
        for project in status.projects {
            projects[project.id] = .string(project.state)
        }
        return AdminReport(
            isGood: status.isReady,
            details: [
                "redis": .string(status.redis), "draining": .bool(status.isDraining), "projects": .object(projects),
            ]
        )
    }
}
