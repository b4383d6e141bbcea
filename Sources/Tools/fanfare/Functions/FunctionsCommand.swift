internal import ArgumentParser

struct FunctionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "functions",
        abstract: "The Redis functions that workers decide with.",
        subcommands: [FunctionsLoadCommand.self]
    )
}
