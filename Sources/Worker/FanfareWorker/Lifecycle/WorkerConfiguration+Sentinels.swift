internal import RedisTransport

extension WorkerConfiguration {
    var usesSentinels: Bool { if case .sentinel = redis.form { true } else { false } }
    /// Whether results are kept until a replica has them. Not needed with `safe`, which confirms only what a replica
    /// has.
    var awaitsReplicas: Bool { usesSentinels && safeReplicas == 0 }
}
