internal import ArgumentParser
internal import FanfareClient
internal import FanfareConfiguration
internal import RedisTransport
internal import StreamWire

/// The entries of `dead` that a command applies to.
struct DeadSelection: ParsableArguments {
    @Argument(help: ArgumentHelp("Ids of entries: the first column of `dead ls`.", valueName: "entry"))
    var entries: [String] = []

    @Option(help: ArgumentHelp("All entries of this job.", valueName: "id"), completion: Completion.jobs)
    var job: String?

    @Flag(help: "All current entries.")
    var all = false

    @Option(
        help: ArgumentHelp("With --all or --job: only rejected or parked.", valueName: "kind"),
        completion: Completion.words(["rejected", "parked"]),
        transform: DeadSelection.kind
    )
    var kind: DeadEntry.Kind?

    @OptionGroup var project: ProjectOption
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print one JSON object per line.")
    var json = false

    /// An entry without its fields, which may be large.
    struct Item {
        var id: String
        var job: String
        var kind: DeadEntry.Kind
    }

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        guard [!entries.isEmpty, job != nil, all].filter({ $0 }).count == 1 else {
            throw ValidationError("name entries by their ids, or give --job ID or --all")
        }
        if kind != nil, !entries.isEmpty { throw ValidationError("--kind needs --all or --job") }
        for entry in entries where !Identifiers.isEntry(entry) {
            throw ValidationError("\(entry): not the id of an entry, such as 1772352000000-0 (see `fanfare dead ls`)")
        }
    }

    static func kind(_ text: String) throws -> DeadEntry.Kind {
        let kind = DeadEntry.Kind(rawValue: text)
        guard [.rejected, .parked].contains(kind) else { throw ValidationError("must be rejected or parked") }
        return kind
    }

    /// Connects, finds the entries and processes each in turn. Exits with 1 if an entry is missing or was not processed.
    /// - Parameters:
    ///   - confirm: gets all entries before the first is processed; throws to change nothing.
    ///   - process: returns false if the entry could not be processed, after printing why.
    func run(
        confirm: ([Item]) throws -> Void = { _ in },
        process: (FanfareOperator<RedisClient>, Item) async throws -> Bool
    ) async throws {
        let configuration = try options.load()
        let project = try project.resolve(configuration)
        try await RedisSession.run(configuration) { client in
            let projectOperator = FanfareOperator(redis: client, project: project, prefix: configuration.prefix)
            let items = try await find(projectOperator)
            if items.isEmpty, all {
                Console.error("no matching entries in project \(project)")
                return
            }
            if items.isEmpty, let job {
                throw Outcome.failed.because("job \(job): it has no matching entry in `dead` of project \(project)")
            }
            if !items.isEmpty { try confirm(items) }
            var isWhole = items.count == entries.count || entries.isEmpty
            for item in items where try await !process(projectOperator, item) { isWhole = false }
            if !isWhole { throw ExitCode(Outcome.failed.rawValue) }
        }
    }

    private func find(_ projectOperator: FanfareOperator<RedisClient>) async throws -> [Item] {
        var items: [Item] = []
        if entries.isEmpty {
            try await projectOperator.eachDeadEntry { entry in
                if job == nil || entry.job == job, kind == nil || entry.kind == kind {
                    items.append(Item(id: entry.id, job: entry.job, kind: entry.kind))
                }
                return true
            }
            return items
        }
        for id in entries {
            if let entry = try await projectOperator.deadEntry(id) {
                items.append(Item(id: entry.id, job: entry.job, kind: entry.kind))
            } else {
                Console.error("fanfare: \(Self.missing(id, projectOperator.keys.project))")
            }
        }
        return items
    }

    static func missing(_ id: String, _ project: String) -> String {
        "\(id): no such entry in `dead` of project \(project); it may have been replayed or dropped already"
    }
}
