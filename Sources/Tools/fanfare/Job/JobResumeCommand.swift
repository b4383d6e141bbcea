internal import ArgumentParser

struct JobResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resumes paused jobs where they stopped.",
        discussion: """
            A fan-out gets its old place in the queue. `fanfare dead replay` resumes a `parked` job.

            Example:
              fanfare job resume newsletter-7
            """
    )

    @OptionGroup var arguments: JobsArguments

    func run() async throws { try await arguments.change(.resume) }
}
