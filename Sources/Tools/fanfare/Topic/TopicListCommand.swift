internal import ArgumentParser
internal import FanfareClient
internal import FanfareModel

struct TopicListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists the topics of tokens.",
        discussion: """
            Pushes a job, waits for it and prints a topic per line; of several tokens the token, a tab and the topic. A token \
            that fails is named on standard error, and the command exits with 1. The project needs `topic_api: v1`.

            Examples:
              fanfare topic ls --project demo --token T1
              fanfare topic ls --project demo --tokens-file tokens.txt --json |
                jq -r 'select(.topics | index("news")).token'
            """
    )

    @OptionGroup var project: ProjectOption
    @OptionGroup(title: "Tokens") var members: MemberOptions

    @Option(
        help: .value("id", "Your own id. A job pushed again with it within the dedupe window is not executed again.")
    )
    var id: String?

    @OptionGroup var pushing: PushOptions
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print JSON: a line per token, as `job results --json` does.")
    var json = false

    /// Refuses what a worker would reject, while the user is still present.
    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        if let id { try GeneralJobOptions.check(id: id) }
    }

    func run() async throws {
        let tokens = try members.tokens(checks: !pushing.skipsCheck)
        var job = PushJob.topics(of: tokens)
        job.id = id
        // A larger job omits results that are plainly `sent` unless it says this.
        job.results = .all
        try await project.connect(options, force: pushing.force) { session in
            // Only the configuration says whether the project can list topics.
            if !pushing.skipsCheck, session.settings != nil { try SendCheck(session: session).check(job) }
            let pushed = try await JobPush(session: session, job: job).push()
            let wait = JobWait(
                session: session,
                job: pushed.id,
                isAwaited: pushed.isAwaited,
                isWarned: pushed.isWarned
            )
            let progress = try await wait.watch()
            if progress.status.state == .rejected, let reason = progress.status.reason {
                throw Outcome.failed.because("job \(pushed.id) was rejected: \(reason)")
            }
            var listed = 0
            try await session.producer.results(of: progress.status) { entry in
                for result in entry.results {
                    listed += 1
                    show(result, namesToken: tokens.count > 1)
                }
            }
            try wait.check(progress)
            guard listed >= tokens.count else {
                throw Outcome.failed.because("job \(pushed.id) is done, but the stream no longer holds its results")
            }
        }
    }

    private func show(_ result: JobResult, namesToken: Bool) {
        if json { Console.json(result.json) }
        if let topics = result.topics {
            guard !json, !topics.isEmpty else { return }
            Console.line(topics.map { namesToken ? "\(result.recipient)\t\($0)" : $0 }.joined(separator: "\n"))
        } else {
            let words = [result.rawError, result.error].compactMap { $0 }.filter { !$0.isEmpty }
            let reason = words.isEmpty ? result.status.rawValue : words.joined(separator: ", ")
            Console.error("fanfare: \(TokenMask.masked(result.recipient)): \(reason)")
        }
    }
}
