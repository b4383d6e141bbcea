internal import ArgumentParser
internal import FanfareClient

struct GroupAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Adds tokens to a group, which has at most 20.",
        discussion: """
            Prints the job's id; with --wait, the group's key.

            Example:
              fanfare group add --project demo --name family-7 --group "$KEY" --token T3
            """
    )

    @OptionGroup var arguments: GroupArguments
    @OptionGroup var key: GroupKeyOption
    @OptionGroup(title: "Tokens") var members: GroupMembers

    func run() async throws {
        try await arguments.run(
            .add(try members.tokens(checks: !arguments.pushing.skipsCheck), toGroup: arguments.name, key: key.group)
        )
    }
}
