internal import ArgumentParser

struct JobPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Holds jobs until they are resumed.",
        discussion: """
            Within a second no worker starts a new send of the job. A fan-out gives its slot to the next one. `expires_at` \
            still applies.

            `fanfare pause --all` holds every job that runs.

            Examples:
              fanfare job pause newsletter-7
              fanfare job pause newsletter-7 spring-sale --reason "wrong link"
            """
    )

    @OptionGroup var arguments: JobsArguments

    func run() async throws { try await arguments.change(.pause) }
}
