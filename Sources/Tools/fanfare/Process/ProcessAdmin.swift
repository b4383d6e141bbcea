internal import FanfareAdmin
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareMetrics
internal import FanfareModel
internal import Logging

/// The admin server of a worker or gateway, which runs without it if its address is unavailable.
struct ProcessAdmin: Sendable {
    /// What the process is called in logs.
    let process: String
    /// The setting of the address.
    let setting: String
    let token: SecretText?
    let registry: MetricRegistry
    let logger: Logger
    /// How long the process has shown no life.
    let silentMs: @Sendable () -> Int64
    let readiness: @Sendable () -> AdminReport

    /// A process that was silent for longer is stalled.
    private static let stalledMs: Int64 = 10_000

    /// Serves until the process ends. Returns if no address is configured, or after logging that it is unavailable.
    func run(_ address: ListenAddress?) async {
        guard let address else { return }
        let server = AdminServer(
            address: address,
            token: token.map { BearerToken($0.value) },
            probes: AdminProbes(registry: registry, health: health, readiness: readiness),
            logger: logger
        )
        do {
            try await server.run { [logger] address in
                logger.info("The admin address listens.", metadata: ["address": "\(address)"])
            }
        } catch {
            logger.warning(
                "The admin address cannot be used; the \(process) runs without it.",
                metadata: ["address": "\(address)", "error": "\(error); choose another with \(setting)"]
            )
        }
    }

    private func health() -> AdminReport {
        let ms = silentMs()
        return AdminReport(isGood: ms < Self.stalledMs, details: ["silent_ms": .number(JSONNumber(ms))])
    }
}
