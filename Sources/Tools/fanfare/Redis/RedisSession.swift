internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import OpenSSLKit
internal import RedisTransport
internal import StreamWire

/// A connection for the time of one command.
enum RedisSession {
    /// Connects, runs and closes, and turns what Redis says into an exit code.
    static func run(_ configuration: Configuration, _ body: (RedisClient) async throws -> Void) async throws {
        let deployment = try deployment(configuration)
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

    static func deployment(_ configuration: Configuration) throws -> RedisDeployment {
        do throws(ConfigurationError) {
            return try configuration.deployment(try configuration.redisPasswords())
        } catch {
            throw ConfigurationOptions.report(error)
        }
    }

    static func connect(
        _ deployment: RedisDeployment,
        _ configuration: Configuration
    ) async throws(RedisError) -> RedisClient {
        try await RedisClient.connect(deployment, tls: configuration.redisTLS, patienceMs: 2_000)
    }

    /// What only a person can mend is configuration; all else passes.
    static func outcome(_ error: RedisError) -> Outcome {
        [.noAuth, .wrongPass, .noPerm, .tls].contains(error.code) ? .configuration : .unavailable
    }

    static let missingFunctions =
        "Fanfare's functions are not there, or are older than this program; a worker loads them at its start, "
        + "and so does `fanfare functions load`"
}
