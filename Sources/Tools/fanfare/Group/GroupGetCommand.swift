internal import ArgumentParser
internal import FanfareClient

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

    func run() async throws { try await arguments.run(.getGroup(arguments.name)) }
}
