internal import ArgumentParser

struct JobCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "job",
        abstract: "Checks, shows, stops and resumes jobs.",
        subcommands: [
            JobListCommand.self, JobShowCommand.self, JobResultsCommand.self, JobCancelCommand.self,
            JobPauseCommand.self, JobResumeCommand.self, JobCheckCommand.self, JobPreviewCommand.self,
        ]
    )
}
