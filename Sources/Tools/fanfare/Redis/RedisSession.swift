internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareRedis

/// The Redis connection of a command.
enum RedisSession {
    /// Connects, runs the body and closes. Prints errors of Redis and throws their exit code.
    static func run(_ configuration: Configuration, _ body: (RedisClient) async throws -> Void) async throws {
        let deployment = try configuration.deployment()
        do {
            let client = try await connect(deployment, configuration)
            defer { client.close() }
            try await body(client)
        } catch let error as RedisError where error.code == .functionNotFound {
            throw Outcome.unavailable.because("Redis at \(deployment): \(missingFunctions)")
        } catch let error as RedisError where error.code == .moved && deployment.form == .server {
            throw Outcome.configuration.because(
                "Redis at \(deployment) is a node of a cluster: begin redis.url with redis-cluster://"
            )
        } catch let error as RedisError {
            throw outcome(error).because("Redis at \(deployment): \(error)")
        } catch let error as FanfareClientError {
            throw Outcome.failed.because("\(error)")
        }
    }

    static func connect(
        _ deployment: RedisDeployment,
        _ configuration: Configuration
    ) async throws(RedisError) -> RedisClient {
        try await RedisClient.connect(deployment, tls: configuration.redisTLS, patienceMs: 2_000)
    }

    /// The exit code of an error: `configuration` if an operator must correct it, `unavailable` if it is transient.
    static func outcome(_ error: RedisError) -> Outcome {
        [.noAuth, .wrongPass, .noPerm, .tls].contains(error.code) ? .configuration : .unavailable
    }

    static let missingFunctions =
        "Fanfare's functions are missing or older than this program; start a worker, which loads them, "
        + "or run `fanfare functions load`"
}
