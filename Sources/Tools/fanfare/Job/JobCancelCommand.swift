internal import ArgumentParser

struct JobCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancels every recipient of jobs that has no result yet.",
        discussion: """
            Within a second no worker starts a new send of the job. It is over when each recipient has a result: \
            `cancelled`, or `unknown` if the message may have arrived. It cannot be undone. A job that no worker has taken \
            yet ends when one takes it. If no recipient had an attempt, the job's id may be used again.

            Example:
              fanfare job cancel newsletter-7 --project demo
            """
    )

    @OptionGroup var arguments: JobsArguments

    func run() async throws { try await arguments.change(.cancel) }
}
