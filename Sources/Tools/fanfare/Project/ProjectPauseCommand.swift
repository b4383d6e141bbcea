internal import ArgumentParser
internal import FanfareClient
internal import StreamWire

struct ProjectPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stops all sends of a project until it is resumed.",
        discussion: """
            Within a second no worker starts a new send of the project. Jobs can still be pushed, and wait.

            Example:
              fanfare project pause demo --reason "wrong sender, see ticket 7"
            """
    )

    @OptionGroup var arguments: ProjectArguments

    @Option(help: ArgumentHelp("Shown as the reason of the pause.", valueName: "text"))
    var reason = ""

    func run() async throws {
        try await arguments.run { projectOperator in
            try await projectOperator.pauseProject(reason: reason)
            return "paused"
        }
    }
}
