internal import ArgumentParser
internal import FanfareClient

struct ProjectResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resumes a paused project.",
        discussion: """
            A blocked project, for example one whose credentials were refused, is retried at once instead of within a minute.

            Example:
              fanfare project resume demo
            """
    )

    @OptionGroup var arguments: ProjectArguments

    @Option(help: .value("text", "Why; kept with your name in the project's audit list."))
    var reason = ""

    func run() async throws {
        try await arguments.run("resumed") { try await $0.resumeProject(reason: reason) }
    }
}
