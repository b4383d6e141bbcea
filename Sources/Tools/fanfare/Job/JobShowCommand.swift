internal import ArgumentParser
internal import FanfareClient
internal import FanfareJSON

struct JobShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows a job's state, rate and what holds it.",
        discussion: """
            `sent` means accepted by FCM, not delivered and not shown. Below `failed` stand the failures by error: their share \
            of the results so far, at a canary of the canary, and what to do with these recipients. The rate is that of the \
            last seconds, of a job that is over that of its first pass. `tail` says what is left once every recipient had its \
            first attempt. `canary`, `stop if` and other guards are shown where the job has them; `reason` says which one \
            paused it. Times are local.

            Of the id of `fanfare send --local-time` it shows each job and their sums.

            Examples:
              fanfare job show newsletter-7 --project demo
              fanfare job show newsletter-7 --project demo --wait && echo "all accepted"
            """,
        aliases: ["status"]
    )

    @OptionGroup var arguments: JobArguments

    @Flag(help: "Follow the job until it is over; exit with 0 only if every recipient was accepted by FCM.")
    var wait = false

    func run() async throws {
        try await arguments.run { session in
            guard let details = try await session.projectOperator.details(of: arguments.id) else {
                guard let parts = try await session.projectOperator.parts(of: arguments.id) else {
                    throw try await JobArguments.missing(arguments.id, session)
                }
                return try show(parts, session.project)
            }
            let wait = JobWait(session: session, job: arguments.id)
            if self.wait { return try await wait.follow(isJSON: arguments.json) }
            let progress = details.progress
            if arguments.json {
                Console.json(FleetJSON.object(progress, in: session.project, details: details))
            } else {
                let nextRetryMs = await wait.nextRetry(progress)
                Console.line(JobRendering.table(details, nextRetryMs: nextRetryMs))
            }
        }
    }

    private func show(_ parts: JobParts, _ project: String) throws {
        guard !wait else {
            throw Outcome.usage.because(
                "--wait follows one job; \(arguments.id) has \(parts.jobs.count), such as \(parts.jobs[0].id)"
            )
        }
        if arguments.json {
            var object = parts.json
            object.members.insert(.init(key: "project", value: .string(project)), at: 1)
            Console.json(object)
        } else {
            Console.line(JobRendering.table(parts))
        }
    }
}
