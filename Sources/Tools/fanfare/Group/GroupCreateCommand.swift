internal import ArgumentParser
internal import FanfareClient

struct GroupCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Creates a group of 1 to 20 tokens.",
        discussion: """
            Prints the job's id; with --wait, the group's key.

            Examples:
              fanfare group create --project demo --name family-7 --token T1 --token T2
              KEY=$(fanfare group create --project demo --name family-7 --token T1 --wait)
              fanfare send --project demo --group "$KEY" --title Dinner
            """
    )

    @OptionGroup var arguments: GroupArguments
    @OptionGroup(title: "Tokens") var members: GroupMembers

    func run() async throws {
        try await arguments.run(
            .createGroup(arguments.name, members: try members.tokens(checks: !arguments.pushing.skipsCheck))
        )
    }
}
