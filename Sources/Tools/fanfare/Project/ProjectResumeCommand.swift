internal import ArgumentParser
internal import FanfareClient
internal import StreamWire

struct ProjectResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Lets a paused project go on.",
        discussion: """
            A project that is blocked, because its credentials were refused for example, is tried again at once instead of \
            within a minute.

            Example:
              fanfare project resume demo
            """
    )

    @OptionGroup var arguments: ProjectArguments

    func run() async throws {
        try await arguments.run { projectOperator in
            try await projectOperator.resumeProject()
            return "resumed"
        }
    }
}
