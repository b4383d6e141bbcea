internal import RedisTransport

extension WorkerConfiguration {
    var usesSentinels: Bool { if case .sentinel = redis.form { true } else { false } }
    /// With the `safe` profile nothing is confirmed that a replica has not.
    var awaitsReplicas: Bool { usesSentinels && safeReplicas == 0 }
}
