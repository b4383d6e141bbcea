internal import ArgumentParser

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Checks the configuration, prints its schema.",
        subcommands: [ConfigCheckCommand.self, ConfigSchemaCommand.self]
    )
}
