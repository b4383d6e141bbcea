internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import RedisTransport

struct TopicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic",
        abstract: "Subscribes tokens to topics and ends subscriptions.",
        discussion: "Both are jobs: workers carry them out, and every token gets a result.",
        subcommands: [TopicSubscribeCommand.self, TopicUnsubscribeCommand.self]
    )
}

struct TopicSubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Pushes a job that subscribes tokens to a topic, and prints its id.",
        discussion: """
            Results tell each token's fate, `sent` being success: `fanfare job results ID --failed`. A token that is \
            subscribed already is a success too.

            Examples:
              fanfare topic subscribe --project demo --topic news --token T1 --wait
              fanfare topic subscribe --project demo --topic news --tokens-file new.txt
            """
    )

    @OptionGroup var arguments: TopicArguments

    func validate() throws { try arguments.check() }

    func run() async throws { try await arguments.run { .subscribe($0, to: $1) } }
}

struct TopicUnsubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unsubscribe",
        abstract: "Pushes a job that ends tokens' subscriptions to a topic, and prints its id.",
        discussion: """
            A token without a subscription is a success.

            Examples:
              fanfare topic unsubscribe --project demo --topic news --token T1 --wait
              fanfare topic unsubscribe --project demo --topic news --tokens-file left.txt
            """
    )

    @OptionGroup var arguments: TopicArguments

    func validate() throws { try arguments.check() }

    func run() async throws { try await arguments.run { .unsubscribe($0, from: $1) } }
}

/// What both take.
struct TopicArguments: ParsableArguments {
    @OptionGroup var project: ProjectOption

    @Option(help: ArgumentHelp("The topic's name.", valueName: "name"))
    var topic: String

    @OptionGroup(title: "Tokens") var members: MemberOptions
    @OptionGroup(title: "Job") var general: GeneralJobOptions
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Follow the job; exit with 0 only if it went well for every token.")
    var wait = false

    @Flag(help: "Print JSON: the id, or with --wait the job as `job show --json` does.")
    var json = false

    func check() throws {
        guard !Fanfare.isUnchecked else { return }
        try members.check()
        try general.check()
    }

    func run(_ make: ([String], String) -> PushJob) async throws {
        let configuration = try options.load()
        let project = try project.resolveToPush(configuration)
        var job = make(try members.tokens(), topic)
        try await RedisSession.run(configuration) { client in
            try await general.apply(to: &job, client)
            let desk = JobSubmitter(client: client, project: project, prefix: configuration.prefix)
            try await desk.push(job, waits: wait, isJSON: json)
        }
    }
}
