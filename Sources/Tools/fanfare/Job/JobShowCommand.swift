internal import ArgumentParser
internal import FanfareClient

struct JobShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows a job's state, rate and obstacle.",
        discussion: """
            `sent` means accepted by FCM, not delivered and not shown. The rate is the average since the first batch was \
            claimed, including pauses; with --wait it is that of the last seconds.

            Examples:
              fanfare job show newsletter-7 --project demo
              fanfare job show newsletter-7 --project demo --wait && echo "everyone was accepted"
            """
    )

    @OptionGroup var arguments: JobArguments

    @Flag(help: "Follow the job until it is over; exit with 0 only if every recipient was accepted by FCM.")
    var wait = false

    func run() async throws {
        try await arguments.run { session in
            guard let progress = try await session.projectOperator.progress(of: arguments.id) else {
                throw JobArguments.missing(arguments.id)
            }
            if wait { return try await JobWait(session: session, job: arguments.id).follow(isJSON: arguments.json) }
            let object = JobRendering.json(progress, session.project)
            Console.result(JobRendering.table(progress), object, isJSON: arguments.json)
        }
    }
}
