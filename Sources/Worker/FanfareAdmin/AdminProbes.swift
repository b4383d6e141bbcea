public import FanfareJSON
public import FanfareMetrics

/// What admin requests are answered from. The closures are called for every request, on any thread, and must not block.
public struct AdminProbes: Sendable {
    public var registry: MetricRegistry
    /// Whether the process works; if not, restart it.
    public var health: @Sendable () -> AdminReport
    /// Whether the process can work now; if not, wait.
    public var readiness: @Sendable () -> AdminReport

    public init(
        registry: MetricRegistry,
        health: @escaping @Sendable () -> AdminReport,
        readiness: @escaping @Sendable () -> AdminReport
    ) {
        self.registry = registry
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
