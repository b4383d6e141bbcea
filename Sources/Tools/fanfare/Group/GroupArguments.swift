internal import ArgumentParser
internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel

/// Arguments of all device group commands, and their execution.
struct GroupArguments: ParsableArguments {
    @OptionGroup var project: ProjectOption

    @Option(help: .value("name", "The group's name."))
    var name: String

    @Option(
        help: .value("id", "Your own id. A job pushed again with it within the dedupe window is not executed again.")
    )
    var id: String?

    @OptionGroup var pushing: PushOptions
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Follow the job and print the group's key; exit with 0 only if it succeeded.")
    var wait = false

    @Flag(help: "Print JSON: the id, or with --wait the result.")
    var json = false

    /// Refuses what a worker would reject, while the user is still present.
    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        if name.isEmpty { throw ValidationError("--name: empty") }
        if let id { try GeneralJobOptions.check(id: id) }
    }

    func run(_ job: PushJob) async throws {
        var job = job
        job.id = id
        try await project.connect(options, force: pushing.force) { session in
            if !pushing.skipsCheck { try SendCheck(session: session).check(job) }
            let push = JobPush(session: session, job: job)
            let pushed = try await push.push()
            guard wait else { return push.printID(pushed, isJSON: json) }
            try await finish(pushed, session)
        }
    }

    /// Prints only the key to standard output, for scripts.
    private func finish(_ pushed: JobPush.Pushed, _ session: ProjectSession) async throws {
        let id = pushed.id
        let wait = JobWait(session: session, job: id, isAwaited: pushed.isAwaited, isWarned: pushed.isWarned)
        let progress = try await wait.watch()
        var results: [JobResult] = []
        try await session.producer.results(of: progress.status, unreadable: { _ in }) { results += $0.results }
        let result = results.last
        if json {
            let head: JSONObject = ["id": .string(id), "project": .string(session.project)]
            let body =
                result.map { head.members + $0.json.members } ?? FleetJSON.object(progress, in: session.project).members
            Console.json(JSONObject(body + pushed.members))
        }
        if let result, result.status == .failed {
            let words = [result.rawError, result.error].compactMap { $0 }.filter { !$0.isEmpty }
            throw Outcome.failed.because("job \(id): \(words.joined(separator: ", "))")
        }
        if progress.status.state == .rejected, let reason = progress.status.reason {
            throw Outcome.failed.because("job \(id) was rejected: \(reason)")
        }
        try wait.check(progress)
        guard let key = result?.group else {
            throw Outcome.failed.because("job \(id) is done, but the stream no longer holds its result")
        }
        guard !key.isEmpty else {
            throw Outcome.failed.because(
                "job \(id) was carried out, but FCM's answer with the key was lost; get it with"
                    + " `fanfare group get --name \(name) --wait`"
            )
        }
        if !json { Console.line(key) }
    }
}

struct GroupKeyOption: ParsableArguments {
    @Option(help: .value("key", "The group's key, as an earlier command printed it."))
    var group: String
}

/// The tokens of a group's members.
struct GroupMembers: ParsableArguments {
    @OptionGroup var members: MemberOptions

    private static let most = 20

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        if let fault = Self.fault(members.token.count) { throw ValidationError(fault) }
    }

    func tokens(checks: Bool) throws -> [String] {
        let tokens = try members.tokens(checks: checks)
        if let fault = Self.fault(tokens.count) { throw Outcome.usage.because(fault) }
        return tokens
    }

    private static func fault(_ count: Int) -> String? {
        count <= most ? nil : "\(count) tokens, a group has at most \(most)"
    }
}
