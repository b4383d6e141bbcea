internal import ArgumentParser
internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel
internal import Glibc

struct JobResultsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "results",
        abstract: "Lists the results of a job.",
        discussion: """
            `sent` means accepted by FCM, not delivered and not shown. Columns are aligned on a terminal, and separated by tabs \
            elsewhere; long recipients are whole only there.

            Lists the results that the stream still holds. A job of more than 1,000 recipients omits plain `sent` results, \
            unless it was pushed with results=all.

            Examples:
              fanfare job results newsletter-7 --project demo --failed
              fanfare job results newsletter-7 --project demo --json \\
                | jq -r 'select(.action == "remove").token'
            """
    )

    @OptionGroup var arguments: JobArguments

    @Flag(help: "Only results that are not `sent`.")
    var failed = false

    @Flag(help: "Only results of recipients that may have got the message twice.")
    var maybeDup = false

    private func isWanted(_ result: JobResult) -> Bool {
        (!failed || result.status != .sent) && (!maybeDup || result.mayBeDuplicate)
    }

    func run() async throws {
        try await arguments.run { session in
            guard let status = try await session.producer.status(of: arguments.id) else {
                throw try await JobArguments.missing(arguments.id, session)
            }
            var aligned = isatty(STDOUT_FILENO) == 1 && !arguments.json ? AlignedResults() : nil
            if !arguments.json, aligned == nil { Console.line(Self.columns.joined(separator: "\t")) }
            var isWhole = true
            let reportUnreadable = { (error: FanfareClientError) in
                isWhole = false
                Console.error("fanfare: \(error); no worker wrote this entry, it is skipped")
            }
            try await session.producer.results(of: status, unreadable: reportUnreadable) { entry in
                let wanted = entry.results.filter(isWanted)
                guard aligned == nil else {
                    aligned?.add(wanted.map(Self.cells))
                    return
                }
                let lines = wanted.map { arguments.json ? JSONValue.object($0.json).jsonText : Self.row($0) }
                if !lines.isEmpty { Console.line(lines.joined(separator: "\n")) }
            }
            aligned?.print()
            if !isWhole { throw ExitCode.failure }
        }
    }

    fileprivate static let columns = ["i", "status", "error", "action", "attempts", "recipient"]

    private static func cells(_ result: JobResult) -> [String] {
        let error = (result.error ?? "-") + (result.mayBeDuplicate ? " maybe_dup" : "")
        return [
            "\(result.index)", result.status.rawValue, error, result.action ?? "-", "\(result.attempts)",
            result.recipient,
        ]
    }

    /// Columns separated by tabs: the list may be too long to align, and `cut` can split it.
    private static func row(_ result: JobResult) -> String {
        cells(result).map { PrintableText.escaped($0, keepingLines: false) }.joined(separator: "\t")
    }
}

/// Prints results in aligned columns, page by page: all of them may not fit into memory.
private struct AlignedResults {
    private static let page = 500

    private var rows: [[String]] = []
    private var hasTitles = true

    mutating func add(_ more: [[String]]) {
        rows += more
        if rows.count >= Self.page { print() }
    }

    mutating func print() {
        guard hasTitles || !rows.isEmpty else { return }
        let titles = JobResultsCommand.columns
        var table = TextTable(
            columns: [
                .number(titles[0]), .text(titles[1]), .text(titles[2]), .text(titles[3]), .number(titles[4]),
                .text(titles[5], cut: .middle, least: 16),
            ],
            hasTitles: hasTitles
        )
        for row in rows { table.add(row) }
        Console.line(table.lines(width: TerminalScreen.size.columns).joined(separator: "\n"))
        rows = []
        hasTitles = false
    }
}
