internal import ArgumentParser

struct GatewayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "Manages the keys of producers that push over HTTP.",
        subcommands: [GatewayKeyCommand.self]
    )
}
