internal import FanfareAdmin
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareMetrics
internal import FanfareWorker
internal import Logging

/// The admin server of a worker.
struct WorkerAdmin: Sendable {
    let token: SecretText?
    let status: WorkerStatus
    let registry: MetricRegistry
    let logger: Logger

    /// Serves until the process ends; see ``ProcessAdmin/run(_:)``.
    func run(_ settings: Configuration.Admin) async {
        let probes = AdminProbes(registry: registry, health: health, readiness: readiness)
        let admin = ProcessAdmin(
            process: "worker",
            setting: "admin.listen",
            token: token,
            probes: probes,
            logger: logger
        )
        await admin.run(settings.listen)
    }

    private func health() -> AdminReport {
        let silentMs = status.silentMs
        return AdminReport(
            isGood: silentMs < ProcessAdmin.stalledMs,
            details: ["silent_ms": .number(JSONNumber(silentMs))]
        )
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
