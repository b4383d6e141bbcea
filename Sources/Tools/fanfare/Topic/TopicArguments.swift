internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import RedisTransport

/// Arguments of both topic commands, and their execution.
struct TopicArguments: ParsableArguments {
    @OptionGroup var project: ProjectOption

    @Option(help: ArgumentHelp("The topic's name.", valueName: "name"))
    var topic: String

    @OptionGroup(title: "Tokens") var members: MemberOptions
    @OptionGroup(title: "Job") var general: GeneralJobOptions
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Follow the job; exit with 0 only if it succeeded for every token.")
    var wait = false

    @Flag(help: "Print JSON: the id, or with --wait the job as `job show --json` does.")
    var json = false

    func check() throws {
        guard !Fanfare.skipsValidation else { return }
        try members.check()
        try general.check()
    }

    func run(_ make: ([String], String) -> PushJob) async throws {
        let configuration = try options.load()
        let project = try project.resolveToPush(configuration)
        var job = make(try members.tokens(), topic)
        try await RedisSession.run(configuration) { client in
            try await general.apply(to: &job, client)
            let submitter = JobSubmitter(client: client, project: project, prefix: configuration.prefix)
            try await submitter.push(job, waits: wait, isJSON: json)
        }
    }
}
