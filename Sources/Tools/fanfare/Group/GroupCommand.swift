internal import ArgumentParser

struct GroupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group",
        abstract: "Makes device groups, changes their members and looks up their keys.",
        discussion: """
            Each is a job with one result, which holds the group's key: what `fanfare send --group` takes. Keys of one \
            group may look different and are all valid. The workers' configuration needs the project's sender_id.
            """,
        subcommands: [
            GroupCreateCommand.self, GroupAddCommand.self, GroupRemoveCommand.self, GroupGetCommand.self,
        ]
    )
}
