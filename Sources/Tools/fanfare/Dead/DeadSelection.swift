internal import ArgumentParser
internal import FanfareClient
internal import FanfareJSON

/// The entries of `dead` that a command applies to.
struct DeadSelection: ParsableArguments {
    @Argument(
        help: .value("entry", "Ids of entries: the first column of `dead ls`."),
        completion: Completion.deadEntries
    )
    var entries: [String] = []

    @Option(help: .value("id", "All entries of this job."), completion: Completion.deadJobs)
    var job: String?

    @Flag(help: "All current entries.")
    var all = false

    @Option(
        help: .value("kind", "With --all or --job: only rejected or parked."),
        completion: Words.deadKinds.completion,
        transform: Words.deadKinds.value
    )
    var kind: DeadEntry.Kind?

    @OptionGroup var listing: ListingOptions

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        guard [!entries.isEmpty, job != nil, all].filter({ $0 }).count == 1 else {
            throw ValidationError("name entries by their ids, or give --job ID or --all")
        }
        if kind != nil, !entries.isEmpty { throw ValidationError("--kind needs --all or --job") }
        for entry in entries { try Self.check(entry) }
    }

    static func check(_ entry: String) throws {
        guard Identifiers.isEntry(entry) else {
            throw ValidationError("\(entry): not the id of an entry, such as 1772352000000-0 (see `fanfare dead ls`)")
        }
    }

    /// The outcome of processing an entry.
    struct Treatment {
        var isDone = true
        /// One word, for JSON.
        var outcome: String
        var text: String
        /// The id of the entry that was pushed.
        var entryID: String?

        static func missing(_ project: String) -> Treatment {
            let text = "no such entry in `dead` of project \(project); it may have been replayed or dropped already"
            return Treatment(isDone: false, outcome: "missing", text: text)
        }
    }

    /// Connects, finds the entries, processes each and prints its outcome. Exits with 1 if an entry is missing or was not
    /// processed.
    /// - Parameters:
    ///   - force: see ``ProjectOption/connect(_:force:_:)``.
    ///   - confirm: gets all entries before the first is processed; throws to change nothing.
    func run(
        force: Bool? = nil,
        confirm: ([DeadEntry]) throws -> Void = { _ in },
        process: (ProjectSession, DeadEntry) async throws -> Treatment
    ) async throws {
        try await listing.connect(force: force) { session in
            let items = try await find(session)
            if items.isEmpty, all {
                Console.error("no matching entries in project \(session.project)")
                return
            }
            if items.isEmpty, let job {
                throw Outcome.failed.because(
                    "job \(job): it has no matching entry in `dead` of project \(session.project)"
                )
            }
            if !items.isEmpty { try confirm(items) }
            var isWhole = items.count == entries.count || entries.isEmpty
            for item in items {
                let treatment = try await process(session, item)
                show(treatment, item)
                if !treatment.isDone { isWhole = false }
            }
            if !isWhole { throw ExitCode.failure }
        }
    }

    private func show(_ treatment: Treatment, _ item: DeadEntry) {
        if listing.json {
            var object: JSONObject = [
                "entry": .string(item.id), "job": .string(item.job), "outcome": .string(treatment.outcome),
            ]
            object["entry_id"] = treatment.entryID.map { .string($0) }
            Console.json(object)
        }
        if !treatment.isDone {
            Console.error("fanfare: \(item.id): \(treatment.text)")
        } else if !listing.json {
            Console.line("\(item.id): \(treatment.text)")
        }
    }

    /// The entries without their fields, which may be large.
    private func find(_ session: ProjectSession) async throws -> [DeadEntry] {
        var items: [DeadEntry] = []
        func add(_ entry: DeadEntry) {
            var entry = entry
            entry.originals = []
            items.append(entry)
        }
        if entries.isEmpty {
            try await session.projectOperator.eachDeadEntry { entry in
                if job == nil || entry.job == job, kind == nil || entry.kind == kind { add(entry) }
                return true
            }
        }
        for id in entries {
            if let entry = try await session.projectOperator.deadEntry(id) {
                add(entry)
            } else {
                Console.error("fanfare: \(id): \(Treatment.missing(session.project).text)")
            }
        }
        return items
    }
}
