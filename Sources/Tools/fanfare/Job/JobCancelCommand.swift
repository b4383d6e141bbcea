internal import ArgumentParser
internal import FanfareClient
internal import StreamWire

struct JobCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Gives up every recipient that has no result yet.",
        discussion: """
            No new send begins later than a second after this, in any worker. The job is over when each of its recipients \
            has a result: `cancelled`, or `unknown` where the message may have arrived. It cannot be taken back. A job that no \
            worker has taken yet ends when one takes it.

            Example:
              fanfare job cancel newsletter-7 --project demo
            """
    )

    @OptionGroup var arguments: JobArguments

    func run() async throws {
        try await arguments.run { projectOperator in
            let reply = try await projectOperator.cancel(arguments.id)
            // Asked for twice, it is as cancelled as can be.
            let isDone = reply == .over(state: JobStatus.State.cancelled.rawValue)
            try JobControlReport(arguments, projectOperator.keys.project, reply).print(
                "its unfinished recipients are cancelled",
                isDone
            )
        }
    }
}
