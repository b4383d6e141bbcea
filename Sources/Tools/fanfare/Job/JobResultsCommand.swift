internal import ArgumentParser
internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel

struct JobResultsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "results",
        abstract: "Lists the results of a job.",
        discussion: """
            `sent` means accepted by FCM, not delivered and not shown.

            Lists the results that the stream still holds. A job of more than 1,000 recipients omits plain `sent` results, \
            unless it was pushed with results=all.

            Examples:
              fanfare job results newsletter-7 --project demo --failed
              fanfare job results newsletter-7 --project demo --json | jq -r 'select(.action == "remove").token'
            """
    )

    @OptionGroup var arguments: JobArguments

    @Flag(help: "Only results that are not `sent`.")
    var failed = false

    func run() async throws {
        try await arguments.run { session in
            guard let status = try await session.producer.status(of: arguments.id) else {
                throw JobArguments.missing(arguments.id)
            }
            if !arguments.json { Console.line(Self.columns.joined(separator: "\t")) }
            var isWhole = true
            let reportUnreadable = { (error: FanfareClientError) in
                isWhole = false
                Console.error("fanfare: \(error); no worker wrote this entry, it is skipped")
            }
            try await session.producer.results(of: status, unreadable: reportUnreadable) { entry in
                let wanted = entry.results.filter { !failed || $0.status != .sent }
                let lines = wanted.map { arguments.json ? JSONValue.object($0.json).jsonText : Self.row($0) }
                if !lines.isEmpty { Console.line(lines.joined(separator: "\n")) }
            }
            if !isWhole { throw ExitCode.failure }
        }
    }

    private static let columns = ["i", "status", "error", "action", "attempts", "recipient"]

    /// Columns separated by tabs: the list may be too long to align, and `cut` can split it.
    private static func row(_ result: JobResult) -> String {
        let error = (result.error ?? "-") + (result.mayBeDuplicate ? " maybe_dup" : "")
        return [
            "\(result.index)", result.status.rawValue, error, result.action ?? "-", "\(result.attempts)",
            result.recipient,
        ].map { PrintableText.escaped($0, keepingLines: false) }.joined(separator: "\t")
    }
}
