internal import ArgumentParser
internal import FanfareClient

/// Arguments of the commands that change subscriptions, and their execution.
struct TopicArguments: ParsableArguments {
    @OptionGroup var project: ProjectOption

    @Option(help: .value("name", "The topic's name."))
    var topic: String

    @OptionGroup(title: "Tokens") var members: MemberOptions
    @OptionGroup(title: "Job") var general: GeneralJobOptions
    @OptionGroup var pushing: PushOptions
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Follow the job; exit with 0 only if it succeeded for every token.")
    var wait = false

    @Flag(help: "Print JSON: the id, or with --wait the job as `job show --json` does.")
    var json = false

    func run(_ make: ([String], String) -> PushJob) async throws {
        var job = make(try members.tokens(checks: !pushing.skipsCheck), topic)
        try await project.connect(options, force: pushing.force) { session in
            try await general.apply(to: &job, session.client, checks: !pushing.skipsCheck)
            if !pushing.skipsCheck { try SendCheck(session: session).check(job) }
            try await JobPush(session: session, job: job).run(waits: wait, isJSON: json)
        }
    }
}
