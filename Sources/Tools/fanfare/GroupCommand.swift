internal import ArgumentParser
internal import FanfareClient

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

struct GroupCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Makes a group of 1 to 20 tokens.",
        discussion: """
            Prints the job's id; with --wait, the group's key.

            Examples:
              fanfare group create --project demo --name family-7 --token T1 --token T2
              KEY=$(fanfare group create --project demo --name family-7 --token T1 --wait)
              fanfare send --project demo --group "$KEY" --title Dinner
            """
    )

    @OptionGroup var arguments: GroupArguments
    @OptionGroup(title: "Tokens") var members: MemberOptions

    func validate() throws { try arguments.check(members) }

    func run() async throws {
        try await arguments.run(.createGroup(arguments.name, members: try arguments.tokens(members)))
    }
}

struct GroupAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Adds tokens to a group, which holds 20 at most.",
        discussion: """
            Prints the job's id; with --wait, the group's key.

            Example:
              fanfare group add --project demo --name family-7 --group "$KEY" --token T3
            """
    )

    @OptionGroup var arguments: GroupArguments
    @OptionGroup var key: GroupKeyOption
    @OptionGroup(title: "Tokens") var members: MemberOptions

    func validate() throws { try arguments.check(members) }

    func run() async throws {
        try await arguments.run(.add(try arguments.tokens(members), toGroup: arguments.name, key: key.group))
    }
}

struct GroupRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Takes tokens out of a group; with its last member it is gone.",
        discussion: """
            Prints the job's id; with --wait, the group's key.

            Example:
              fanfare group remove --project demo --name family-7 --group "$KEY" --token T3
            """
    )

    @OptionGroup var arguments: GroupArguments
    @OptionGroup var key: GroupKeyOption
    @OptionGroup(title: "Tokens") var members: MemberOptions

    func validate() throws { try arguments.check(members) }

    func run() async throws {
        try await arguments.run(.remove(try arguments.tokens(members), fromGroup: arguments.name, key: key.group))
    }
}

struct GroupGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Looks up a group's key by its name.",
        discussion: """
            Prints the job's id; with --wait, the group's key.

            Examples:
              fanfare group get --project demo --name family-7 --wait
              fanfare group get --project demo --name family-7 --wait --json | jq -r .group
            """
    )

    @OptionGroup var arguments: GroupArguments

    func validate() throws { try arguments.check(nil) }

    func run() async throws { try await arguments.run(.getGroup(arguments.name)) }
}
