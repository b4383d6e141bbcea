internal import ArgumentParser

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Shows what was sent to a token.",
        subcommands: [TokenShowCommand.self]
    )
}
