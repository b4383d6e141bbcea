public import FanfareJSON

/// What the admin server asks the process for; each is called for every request, on any thread, and must not block.
public struct AdminProbes: Sendable {
    /// In Prometheus' text format, and what it is called.
    public var metrics: @Sendable () -> String
    public var metricsType: String
    /// The process works: if not, it should be started anew.
    public var health: @Sendable () -> AdminReport
    /// The process can do its work now: if not, whoever waits for it should go on waiting.
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

/// What a probe has found.
public struct AdminReport: Equatable, Sendable {
    public var isGood: Bool
    /// Why, for those who may know; shown as an object beside the verdict.
    public var details: JSONObject

    public init(isGood: Bool, details: JSONObject = [:]) {
        self.isGood = isGood
        self.details = details
    }
}
