internal import FanfareAdmin
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareMetrics
internal import FanfareModel
internal import FanfareWorker
internal import Logging

/// The admin server of a worker. The worker runs without it if its address is unavailable.
struct WorkerAdmin: Sendable {
    let token: SecretText?
    let status: WorkerStatus
    let registry: MetricRegistry
    let logger: Logger

    /// A loop that was silent for longer is stalled: it reports four times a second.
    private static let stalledMs: Int64 = 10_000

    /// Serves until the process ends. Returns if no address is configured, or after logging that it is unavailable.
    func run(_ settings: Configuration.Admin) async {
        guard let address = settings.listen else { return }
        let server = AdminServer(
            address: address,
            token: token.map { BearerToken($0.value) },
            probes: AdminProbes(
                registry: registry,
                health: health,
                readiness: readiness
            ),
            logger: logger
        )
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

    private func health() -> AdminReport {
        let silentMs = status.silentMs
        return AdminReport(isGood: silentMs < Self.stalledMs, details: ["silent_ms": .number(JSONNumber(silentMs))])
    }

    private func readiness() -> AdminReport {
        let status = status.current
        let projects = status.projects.map { JSONObject.Member(key: $0.id, value: .string($0.state)) }
        return AdminReport(
            isGood: status.isReady,
            details: [
                "redis": .string(status.redis), "draining": .bool(status.isDraining),
                "projects": .object(JSONObject(projects)),
            ]
        )
    }
}
