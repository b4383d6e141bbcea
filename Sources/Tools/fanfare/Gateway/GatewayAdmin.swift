internal import FanfareAdmin
internal import FanfareConfiguration
internal import FanfareGateway
internal import FanfareJSON
internal import FanfareMetrics
internal import Logging

extension ProcessAdmin {
    /// Of a gateway.
    init(_ health: GatewayHealth, _ token: SecretText?, _ registry: MetricRegistry, _ logger: Logger) {
        self.init(
            process: "gateway",
            setting: "gateway.admin_listen",
            token: token,
            registry: registry,
            logger: logger,
            silentMs: { health.silentMs },
            readiness: {
                AdminReport(
                    isGood: health.isReady,
                    details: ["redis": .bool(health.isRedisThere), "stopping": .bool(health.isStopping)]
                )
            }
        )
    }
}
