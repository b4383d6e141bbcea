internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import FanfareJSON
internal import FanfareRedis

struct DeadListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists the entries, newest first.",
        discussion: """
            `dead replay` and `dead drop` take the first column. --json also prints the evidence and the \
            pushed fields; `dead show` prints the fields of one entry.

            Examples:
              fanfare dead ls --project demo --kind parked
              fanfare dead ls --project demo --limit 1 --json | jq -r .fields.message
            """,
        aliases: ["list"]
    )

    @Option(
        help: .value("kind", "Only this kind: rejected or parked."),
        completion: Words.deadKinds.completion,
        transform: Words.deadKinds.value
    )
    var kind: DeadEntry.Kind?

    @Option(help: .value("id", "Only entries of this job."), completion: Completion.deadJobs)
    var job: String?

    @Option(help: .value("n", "Maximum number of entries."))
    var limit = 100

    @OptionGroup var listing: ListingOptions

    func validate() throws {
        if !(1...1_000_000).contains(limit) { throw ValidationError("--limit: 1 to 1000000") }
    }

    func run() async throws {
        try await listing.connect { session in
            var table = TextTable(["entry", "kind", "job", "at", "reason"])
            var count = 0
            try await session.projectOperator.eachDeadEntry(newestFirst: true) { entry in
                guard kind == nil || entry.kind == kind, job == nil || entry.job == job else { return true }
                count += 1
                // Print each entry at once: an entry holds a whole job, and all of them may not fit into memory.
                if listing.json {
                    Console.json(Self.json(entry))
                } else {
                    let time = entry.atMs.map(JobRendering.timestamp) ?? "-"
                    table.add([entry.id, entry.kind.rawValue, entry.job, time, entry.reason])
                }
                return count < limit
            }
            if listing.json { return }
            if count == 0 {
                Console.error("no matching entries in project \(session.project)")
            } else {
                Console.line(table.lines.joined(separator: "\n"))
            }
        }
    }

    static func json(_ entry: DeadEntry) -> JSONObject {
        var object = entry.json
        object["fields"] = .object(fields(entry))
        return object
    }

    /// The pushed fields, as strings.
    static func fields(_ entry: DeadEntry) -> JSONObject {
        JSONObject(
            entry.originals.map {
                JSONObject.Member(key: $0.name, value: .string(String(decoding: $0.value, as: UTF8.self)))
            }
        )
    }
}
