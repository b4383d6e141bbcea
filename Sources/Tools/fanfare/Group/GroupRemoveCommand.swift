internal import ArgumentParser
internal import FanfareClient

struct GroupRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes tokens from a group; FCM deletes a group without members.",
        discussion: """
            Prints the job's id; with --wait, the group's key.

            Example:
              fanfare group remove --project demo --name family-7 --group "$KEY" --token T3
            """
    )

    @OptionGroup var arguments: GroupArguments
    @OptionGroup var key: GroupKeyOption
    @OptionGroup(title: "Tokens") var members: GroupMembers

    func run() async throws {
        try await arguments.run(
            .remove(
                try members.tokens(checks: !arguments.pushing.skipsCheck),
                fromGroup: arguments.name,
                key: key.group
            )
        )
    }
}
