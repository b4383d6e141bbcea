internal import ArgumentParser
internal import FanfareJSON
internal import RedisTransport
internal import StreamWire

struct FunctionsLoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Loads the Redis functions.",
        discussion: """
            For deployments whose workers' Redis user may not load functions: run it as a user that may, before new workers \
            start. Versions exist side by side, so running workers are not affected. Safe to repeat.

            Example:
              FANFARE_REDIS_URL=$(cat deploy-url) fanfare functions load
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let configuration = try options.load()
        try await RedisSession.run(configuration) { client in
            // In a cluster each primary has its own library, and replicates it.
            for primary in try await client.primaries() {
                let server = try await RedisSession.connect(RedisDeployment(primary), configuration)
                defer { server.close() }
                _ = try await server.send(FunctionLibrary.load())
            }
            let name = FunctionLibrary.name
            Console.result("loaded \(name)", ["library": .string(name), "outcome": "loaded"], isJSON: json)
        }
    }
}
