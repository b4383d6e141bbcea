internal import FanfareAdmin
internal import FanfareConfiguration
internal import FanfareGateway
internal import FanfareJSON
internal import FanfareMetrics
internal import Logging

/// The admin server of a gateway.
struct GatewayAdmin: Sendable {
    let token: SecretText?
    let health: GatewayHealth
    let registry: MetricRegistry
    let logger: Logger

    /// Serves until the process ends; see ``ProcessAdmin/run(_:)``.
    func run(_ address: ListenAddress?) async {
        let probes = AdminProbes(registry: registry, health: verdict, readiness: readiness)
        let admin = ProcessAdmin(
            process: "gateway",
            setting: "gateway.admin_listen",
            token: token,
            probes: probes,
            logger: logger
        )
        await admin.run(address)
    }

    private func verdict() -> AdminReport {
        let silentMs = health.silentMs
        let details: JSONObject = ["silent_ms": .number(JSONNumber(silentMs))]
        return AdminReport(isGood: silentMs < ProcessAdmin.stalledMs, details: details)
    }

    private func readiness() -> AdminReport {
        AdminReport(
            isGood: health.isReady,
            details: ["redis": .bool(health.isRedisThere), "stopping": .bool(health.isStopping)]
        )
    }
}
