internal import ArgumentParser
internal import FanfareClient

struct JobCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancels every recipient that has no result yet.",
        discussion: """
            Within a second no worker starts a new send of the job. It is over when each recipient has a result: \
            `cancelled`, or `unknown` if the message may have arrived. It cannot be undone. A job that no worker has taken \
            yet ends when one takes it.

            Example:
              fanfare job cancel newsletter-7 --project demo
            """
    )

    @OptionGroup var arguments: JobArguments

    @Option(help: .value("text", "Why; kept with your name in the project's audit list."))
    var reason = ""

    func run() async throws {
        try await arguments.change(
            { _ in "its unfinished recipients are cancelled" },
            isSuccess: { $0 == JobStatus.State.cancelled.rawValue }
        ) { try await $0.cancel(arguments.id, reason: reason) }
    }
}
