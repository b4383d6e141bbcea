internal import ArgumentParser

struct ProjectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "project",
        abstract: "Shows, pauses and resumes projects.",
        subcommands: [ProjectListCommand.self, ProjectPauseCommand.self, ProjectResumeCommand.self]
    )
}
