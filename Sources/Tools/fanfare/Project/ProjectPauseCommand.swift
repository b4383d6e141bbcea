internal import ArgumentParser
internal import FanfareClient

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

    @Option(help: .value("text", "Shown as the reason of the pause."))
    var reason = ""

    func run() async throws {
        try await arguments.run("paused") { try await $0.pauseProject(reason: reason) }
    }
}
