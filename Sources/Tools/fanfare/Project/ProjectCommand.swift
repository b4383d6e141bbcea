internal import ArgumentParser

struct ProjectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "project",
        abstract: "Shows, pauses, resumes and forgets projects.",
        subcommands: [
            ProjectListCommand.self, ProjectPauseCommand.self, ProjectResumeCommand.self, ProjectForgetCommand.self,
        ]
    )
}
