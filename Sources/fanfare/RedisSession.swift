internal import ArgumentParser
internal import FanfareConfiguration
internal import OpenSSLKit
internal import RedisTransport
internal import StreamWire

/// A connection for the time of one command.
enum RedisSession {
    /// Connects, runs and closes, and turns what Redis says into an exit code.
    static func run(_ configuration: Configuration, _ body: (RedisClient) async throws -> Void) async throws {
        let endpoint: RedisEndpoint
        do {
            endpoint = try RedisEndpoint(url: configuration.redis.url)
        } catch {
            throw Outcome.configuration.because("configuration: redis.url: \(error.reason)")
        }
        let tls = TLSOptions(
            caFile: configuration.caFile,
            certFile: configuration.redis.certificateFile,
            keyFile: configuration.redis.keyFile
        )
        do {
            let client = try await RedisClient.connect(endpoint, tls: tls, patienceMs: 2_000)
            defer { client.close() }
            try await body(client)
        } catch let error as RedisError {
            throw outcome(error).because("Redis at \(endpoint): \(error)")
        }
    }

    /// What only a person can mend is configuration; all else passes.
    static func outcome(_ error: RedisError) -> Outcome {
        [.noAuth, .wrongPass, .noPerm, .tls].contains(error.code) ? .configuration : .unavailable
    }
}
