internal import ArgumentParser
internal import FanfareClient

struct DeadShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints the fields of one entry as a JSON object, as they were pushed.",
        discussion: """
            Fields are strings, as in the stream; `message`, `tokens` and `fids` hold JSON. Tokens are not masked. The \
            reason goes to standard error. `fanfare job check` checks the corrected object. Exits with 1 if there is no \
            such entry.

            Examples:
              fanfare dead show 1772352000000-0 --project demo > job.json
              fanfare dead show 1772352000000-0 --project demo | jq '.message | fromjson'
            """
    )

    @Argument(
        help: .value("entry", "Id of the entry: the first column of `dead ls`."),
        completion: Completion.deadEntries
    )
    var entry: String

    @OptionGroup var project: ProjectOption
    @OptionGroup var options: ConfigurationOptions

    func validate() throws { try DeadSelection.check(entry) }

    func run() async throws {
        try await project.connect(options) { session in
            guard let found = try await session.projectOperator.deadEntry(entry) else {
                throw Outcome.failed.because("\(entry): \(DeadSelection.Treatment.missing(session.project).text)")
            }
            Console.error("job \(found.job) is \(found.kind): \(found.reason)")
            Console.json(DeadListCommand.fields(found))
        }
    }
}
