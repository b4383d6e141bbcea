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
        let endpoint = try endpoint(configuration)
        do {
            let client = try await connect(endpoint, configuration)
            defer { client.close() }
            try await body(client)
        } catch let error as RedisError where error.code == .functionNotFound {
            throw Outcome.unavailable.because("Redis at \(endpoint): \(missingFunctions)")
        } catch let error as RedisError {
            throw outcome(error).because("Redis at \(endpoint): \(error)")
        } catch let error as FanfareClientError {
            throw Outcome.failed.because("\(error)")
        }
    }

    static func endpoint(_ configuration: Configuration) throws -> RedisEndpoint {
        do {
            return try RedisEndpoint(url: configuration.redis.url)
        } catch {
            throw Outcome.configuration.because("configuration: redis.url: \(error.reason)")
        }
    }

    static func connect(
        _ endpoint: RedisEndpoint,
        _ configuration: Configuration
    ) async throws(RedisError) -> RedisClient {
        let tls = TLSOptions(
            caFile: configuration.caFile,
            certFile: configuration.redis.certificateFile,
            keyFile: configuration.redis.keyFile
        )
        return try await RedisClient.connect(endpoint, tls: tls, patienceMs: 2_000)
    }

    /// What only a person can mend is configuration; all else passes.
    static func outcome(_ error: RedisError) -> Outcome {
        [.noAuth, .wrongPass, .noPerm, .tls].contains(error.code) ? .configuration : .unavailable
    }

    static let missingFunctions =
        "Fanfare's functions are not there, or are older than this program; a worker loads them at its start, "
        + "and so does `fanfare functions load`"
}
