internal import FanfareAdmin
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareMetrics
internal import FanfareWorker
internal import Logging

extension ProcessAdmin {
    /// Of a worker.
    init(_ status: WorkerStatus, _ token: SecretText?, _ registry: MetricRegistry, _ logger: Logger) {
        self.init(
            process: "worker",
            setting: "admin.listen",
            token: token,
            registry: registry,
            logger: logger,
            silentMs: { status.silentMs },
            readiness: {
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
        )
    }
}
