internal import ArgumentParser

struct JobCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "job",
        abstract: "What became of a job.",
        subcommands: [JobShowCommand.self, JobResultsCommand.self]
    )
}

/// What the commands on one job take.
struct JobArguments: ParsableArguments {
    @Argument(help: "The job's id, as `fanfare send` printed it or as the producer gave it.")
    var id: String

    @OptionGroup var project: ProjectOption
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print JSON.")
    var json = false

    static func missing(_ id: String) -> ExitCode {
        Outcome.failed.because(
            "job \(id): not there; it was never pushed, no worker has taken it yet, or it is no longer kept"
        )
    }
}
