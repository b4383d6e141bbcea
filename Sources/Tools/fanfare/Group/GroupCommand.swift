internal import ArgumentParser

struct GroupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group",
        abstract: "Creates device groups, changes their members and looks up their keys.",
        discussion: """
            Each command is a job with one result. It holds the group's key, which `fanfare send --group` takes. A group \
            may have several different keys, all valid. The workers' configuration needs the project's sender_id.
            """,
        subcommands: [
            GroupCreateCommand.self, GroupAddCommand.self, GroupRemoveCommand.self, GroupGetCommand.self,
        ]
    )
}
