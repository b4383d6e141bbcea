internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareModel
internal import RedisTransport

/// Arguments of all device group commands, and their execution.
struct GroupArguments: ParsableArguments {
    @OptionGroup var project: ProjectOption

    @Option(help: ArgumentHelp("The group's name.", valueName: "name"))
    var name: String

    @Option(
        help: ArgumentHelp(
            "Your own id. A job pushed again with it within the dedupe window is not executed again.",
            valueName: "id"
        )
    )
    var id: String?

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Follow the job and print the group's key; exit with 0 only if it succeeded.")
    var wait = false

    @Flag(help: "Print JSON: the id, or with --wait the result.")
    var json = false

    private static let maxMembers = 20

    /// Refuses what a worker would reject, while the user is still present.
    func check(_ members: MemberOptions?) throws {
        guard !Fanfare.skipsValidation else { return }
        if name.isEmpty { throw ValidationError("--name: empty") }
        if let id { try GeneralJobOptions.check(id: id) }
        guard let members else { return }
        try members.check()
        if let refusal = Self.refusal(count: members.token.count) { throw ValidationError(refusal) }
    }

    func tokens(_ members: MemberOptions) throws -> [String] {
        let tokens = try members.tokens()
        if let refusal = Self.refusal(count: tokens.count) { throw Outcome.usage.because(refusal) }
        return tokens
    }

    private static func refusal(count: Int) -> String? {
        count <= maxMembers ? nil : "\(count) tokens, a group has at most \(maxMembers)"
    }

    func run(_ job: PushJob) async throws {
        let configuration = try options.load()
        let project = try project.resolveToPush(configuration)
        var job = job
        job.id = id
        try await RedisSession.run(configuration) { client in
            let submitter = JobSubmitter(client: client, project: project, prefix: configuration.prefix)
            let id = try await submitter.push(job)
            guard wait else { return submitter.printID(id, isJSON: json) }
            try await finish(id, submitter)
        }
    }

    /// Prints only the key to standard output, for scripts.
    private func finish(_ id: String, _ submitter: JobSubmitter) async throws {
        let wait = submitter.wait(id)
        let progress = try await wait.watch()
        var results: [JobResult] = []
        try await submitter.producer.results(of: progress.status, unreadable: { _ in }) { results += $0.results }
        let result = results.last
        if json {
            let head: JSONObject = ["id": .string(id), "project": .string(submitter.project)]
            let whole = result.map { JSONValue.object(JSONObject(head.members + $0.json.members)).jsonText }
            Console.line(whole ?? JobRendering.json(progress, submitter.project))
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
    @Option(help: ArgumentHelp("The group's key, as an earlier command printed it.", valueName: "key"))
    var group: String
}
