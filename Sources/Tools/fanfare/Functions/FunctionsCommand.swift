internal import ArgumentParser

struct FunctionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "functions",
        abstract: "Manages the Redis functions of the workers.",
        subcommands: [FunctionsLoadCommand.self]
    )
}
