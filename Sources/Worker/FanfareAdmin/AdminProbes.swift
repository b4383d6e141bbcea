public import FanfareJSON

/// The closures that answer admin requests. They are called for every request, on any thread, and must not block.
public struct AdminProbes: Sendable {
    /// The metrics, and their content type.
    public var metrics: @Sendable () -> String
    public var metricsType: String
    /// Whether the process works; if not, restart it.
    public var health: @Sendable () -> AdminReport
    /// Whether the process can work now; if not, wait.
    public var readiness: @Sendable () -> AdminReport

    public init(
        metrics: @escaping @Sendable () -> String,
        metricsType: String,
        health: @escaping @Sendable () -> AdminReport,
        readiness: @escaping @Sendable () -> AdminReport
    ) {
        self.metrics = metrics
        self.metricsType = metricsType
        self.health = health
        self.readiness = readiness
    }
}

/// The result of a probe.
public struct AdminReport: Equatable, Sendable {
    public var isGood: Bool
    /// The reasons, which only authorised requests get.
    public var details: JSONObject

    public init(isGood: Bool, details: JSONObject = [:]) {
        self.isGood = isGood
        self.details = details
    }
}
