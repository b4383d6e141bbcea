internal import ArgumentParser

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Checks the configuration.",
        subcommands: [ConfigCheckCommand.self, ConfigReferenceCommand.self, MetricReferenceCommand.self]
    )
}
