internal import ArgumentParser
internal import FanfareClient
internal import StreamWire

struct ProjectPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Sends nothing of a project until it is resumed.",
        discussion: """
            No new send begins later than a second after this, in any worker. Jobs can still be pushed, and wait.

            Example:
              fanfare project pause demo --reason "wrong sender, see ticket 7"
            """
    )

    @OptionGroup var arguments: ProjectArguments

    @Option(help: ArgumentHelp("Shown to whoever asks why nothing moves.", valueName: "text"))
    var reason = ""

    func run() async throws {
        try await arguments.run { projectOperator in
            try await projectOperator.pauseProject(reason: reason)
            return "paused"
        }
    }
}
