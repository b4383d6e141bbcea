internal import ArgumentParser
internal import RedisTransport
internal import StreamWire

struct FunctionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "functions",
        abstract: "The Redis functions that workers decide with.",
        subcommands: [FunctionsLoadCommand.self]
    )
}

struct FunctionsLoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Loads the Redis functions.",
        discussion: """
            For deployments whose workers' Redis user may not load functions: run it as a user that may, before the new \
            workers start. Versions live side by side, so running workers are not disturbed. Safe to repeat.

            Example:
              fanfare functions load --redis redis://deploy:secret@127.0.0.1:6379/0
            """
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        try await RedisSession.run(configuration) { client in
            _ = try await client.send(FunctionLibrary.load())
            Console.line("loaded \(FunctionLibrary.name)")
        }
    }
}
