internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareModel
internal import RedisTransport
internal import StreamWire

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Pushes a job and prints its id.",
        discussion: """
            Workers check the job; one that breaks a rule ends as `rejected`, which --wait and `fanfare job show` tell.

            Examples:
              fanfare send --project demo --token T --title Hello --body World --data article=42 --wait
              fanfare send --project demo --tokens-file tokens.txt --message message.json --id newsletter-7
              fanfare send --project demo --topic news --title Tonight --at +2h
              query-tokens | fanfare send --project demo --tokens-file - --message message.json --wait
            """
    )

    @OptionGroup var project: ProjectOption
    @OptionGroup(title: "Target, exactly one") var target: TargetOptions
    @OptionGroup(title: "Message, a file or its parts") var message: MessageOptions
    @OptionGroup(title: "Job") var job: JobOptions
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Follow the job; exit with 0 only if every recipient was accepted by FCM.")
    var wait = false

    @Flag(help: "Print JSON: the id, or with --wait the job as `job show --json` does.")
    var json = false

    func validate() throws {
        try target.check()
        try message.check()
        try job.check()
        if target.readsStandardInput, message.readsStandardInput {
            throw ValidationError("standard input can be read once: for --tokens-file or for --message")
        }
    }

    func run() async throws {
        let configuration = try options.load()
        let project = try project.resolve(configuration)
        let message = try message.bytes()
        try await RedisSession.run(configuration) { client in
            let keys = ProjectKeys(prefix: configuration.prefix, project: project)
            let target = try await target.resolve(client, keys, notBefore: job.at)
            var push = PushJob(target: target, message: message)
            try await job.apply(to: &push, client)
            let producer = FanfareProducer(redis: client, project: project, prefix: configuration.prefix)
            // A register for people only; a producer whose user may not write it still may push.
            _ = try? await client.send(
                RedisCommand("SADD", ProjectKeys.projects(prefix: configuration.prefix), project)
            )
            let id = try await self.push(push, producer)
            guard wait else {
                Console.line(json ? JSONValue.object(["id": .string(id), "project": .string(project)]).jsonText : id)
                return
            }
            if !json { Console.line(id) }
            let desk = FanfareOperator(redis: client, project: project, prefix: configuration.prefix)
            try await JobWait(desk: desk, job: id).follow(isJSON: json)
        }
    }

    private func push(_ job: PushJob, _ producer: FanfareProducer<RedisClient>) async throws -> String {
        do {
            return try await producer.push(job)
        } catch let error as RedisError where error.maybeApplied {
            let advice =
                job.id == nil ? "without --id, pushing again may send twice" : "its --id makes it safe to push again"
            throw Outcome.unavailable.because("the job may have been pushed or not (\(error)); \(advice)")
        }
    }
}
