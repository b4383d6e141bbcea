public import RedisTransport

extension RedisClient {
    /// Connects to one server, as `RedisClient.connect(_:)` does to a deployment.
    public static func connect(
        _ endpoint: RedisEndpoint,
        patienceMs: Int64 = 0
    ) async throws(RedisError) -> RedisClient {
        try await connect(RedisDeployment(endpoint), patienceMs: patienceMs)
    }
}
