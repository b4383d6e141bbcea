internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareModel
internal import FanfareRedis

struct TokenShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows what was sent to a token or an installation id, and what feedback said about it.",
        discussion: """
            Searches the results and the feedback that are kept, newest first. `sent` means accepted by FCM, not delivered \
            and not shown. Exits with 1 if nothing is kept about the token.

            Examples:
              fanfare token show fXb2:APA91bE…
              fanfare token show - --project demo <token.txt  # not in the process list
              fanfare token show fXb2:APA91bE… --json \\
                | jq '.projects[].jobs[] | select(.status != "sent")'
            """
    )

    @Argument(help: .value("token", "The token, or - to read it from standard input."))
    var token: String

    @Option(help: .value("id", "Only this project; left out: all known ones."), completion: Completion.projects)
    var project: String?

    @Option(help: .value("n", "Maximum number of results, and of feedback entries, of each project."))
    var limit = 100

    @Option(help: .value("cursor", "Continue where an earlier search of the project stopped."))
    var from: String?

    @Flag(help: "Print tokens in full.")
    var unmasked = false

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if Fanfare.skipsValidation { return }
        if !(1...10_000).contains(limit) { throw ValidationError("--limit: 1 to 10000") }
        if from != nil, project == nil { throw ValidationError("--from: name the project with --project") }
        if let project, !ProjectID.isValid(project) {
            throw ValidationError("--project must match \(ProjectID.pattern)")
        }
    }

    func run() async throws {
        let token = try readToken()
        let configuration = try options.load()
        try await RedisSession.run(configuration) { client in
            let stories: [TokenStory]
            do {
                stories = try await find(token, client, configuration)
            } catch let error as FanfareClientError where error.code == .badArgument {
                throw Outcome.usage.because("\(error)")
            }
            let name = unmasked ? token : TokenStory.masked(token)
            if json {
                let projects = stories.map { JSONValue.object($0.json(showsTokens: unmasked)) }
                Console.json(["token": .string(name), "projects": .array(projects)])
            } else {
                TokenRendering(token: name, showsTokens: unmasked).print(stories)
            }
            if stories.allSatisfy(\.isEmpty) { throw ExitCode.failure }
        }
    }

    private func readToken() throws -> String {
        guard token == "-" else { return token }
        let line = readLine()?.split(whereSeparator: \.isWhitespace) ?? []
        guard line.count == 1 else {
            throw Outcome.usage.because("standard input: must begin with a line of one token")
        }
        return String(line[0])
    }

    private func find(
        _ token: String,
        _ client: RedisClient,
        _ configuration: Configuration
    ) async throws -> [TokenStory] {
        guard let project else {
            return try await FanfareOperator.stories(
                of: token,
                redis: client,
                prefix: configuration.prefix,
                projects: configuration.projects.map(\.id),
                limit: limit
            )
        }
        let projectOperator = FanfareOperator(redis: client, project: project, prefix: configuration.prefix)
        return [try await projectOperator.story(of: token, limit: limit, from: from)]
    }
}
