internal import ArgumentParser

struct GatewayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "Serves producers that push over HTTP, and manages their keys and its certificate.",
        subcommands: [GatewayRunCommand.self, GatewayKeyCommand.self, GatewayCACommand.self],
        defaultSubcommand: GatewayRunCommand.self
    )
}
