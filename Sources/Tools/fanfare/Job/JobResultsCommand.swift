internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareModel
internal import RedisTransport

struct JobResultsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "results",
        abstract: "Lists what became of each recipient.",
        discussion: """
            `sent` means accepted by FCM, not delivered and not shown.

            Shows what the results stream still holds. A job of more than 1,000 recipients writes only what is not \
            plainly `sent`, unless it was pushed with results=all.

            Examples:
              fanfare job results newsletter-7 --project demo --failed
              fanfare job results newsletter-7 --project demo --json | jq -r 'select(.action == "remove").token'
            """
    )

    @OptionGroup var arguments: JobArguments

    @Flag(help: "Only what is not `sent`.")
    var failed = false

    func run() async throws {
        let configuration = try arguments.options.load()
        let project = try arguments.project.resolve(configuration)
        try await RedisSession.run(configuration) { client in
            let producer = FanfareProducer(redis: client, project: project, prefix: configuration.prefix)
            guard let status = try await producer.status(of: arguments.id) else {
                throw JobArguments.missing(arguments.id)
            }
            if !arguments.json { Console.line(Self.columns.joined(separator: "\t")) }
            var isWhole = true
            let leaveOut = { (error: FanfareClientError) in
                isWhole = false
                Console.error("fanfare: \(error); no worker wrote that, it is left out")
            }
            try await producer.results(of: status, unreadable: leaveOut) { entry in
                let wanted = entry.results.filter { !failed || $0.status != .sent }
                let lines = wanted.map { arguments.json ? JSONValue.object($0.json).jsonText : Self.row($0) }
                if !lines.isEmpty { Console.line(lines.joined(separator: "\n")) }
            }
            if !isWhole { throw ExitCode(Outcome.failed.rawValue) }
        }
    }

    private static let columns = ["i", "status", "error", "action", "attempts", "recipient"]

    /// Tabs between, so that the usual tools can cut it; the list may be too long to align.
    private static func row(_ result: JobResult) -> String {
        let error = (result.error ?? "-") + (result.mayBeDuplicate ? " maybe_dup" : "")
        return [
            "\(result.index)", result.status.rawValue, error, result.action ?? "-", "\(result.attempts)",
            result.recipient,
        ].map { PrintableText.escaped($0, keepingLines: false) }.joined(separator: "\t")
    }
}
