internal import FanfareModel
internal import RedisTransport

/// The recipients of a file by the instants at which their zones show a local time. Recipients of a short file are
/// kept. Recipients of a long file are written to a Redis list for each instant, in pieces, so that this process does
/// not grow with the file.
final class ZonedRecipients {
    /// The recipients of one instant.
    struct Group {
        /// Elements that are not written to a list: all of a short file.
        var elements: [[UInt8]] = []
        var bytes = 0
        /// All of them.
        var count = 0
        var list: AudienceList?
    }

    private static let advice = "; correct them, or leave them out"

    let local: LocalTime
    private let source: String
    private let noun: String
    private var reader: RecipientFileReader
    private(set) var groups: [Int64: Group] = [:]
    /// Why the recipients are written to lists; nil for a short file.
    private(set) var excess: String?

    /// Reads the header of CSV.
    /// - Parameters:
    ///   - option: `--recipients-file`, or `--tokens-file` for a message without values.
    ///   - path: `-` for standard input.
    init(path: String, option: String, _ instants: ZoneInstants) throws {
        let isTokens = option == "--tokens-file"
        local = instants.time
        noun = isTokens ? "tokens" : "recipients"
        source = path == "-" ? "standard input" : option
        reader = try RecipientFileReader.open(path: path, option: option, instants: instants, isTokens: isTokens)
    }

    /// Unix milliseconds, in order.
    var instants: [Int64] { groups.keys.sorted() }

    /// Reads a short file whole. Checks each row of a long one, unless it is a pipe, which can be read only once.
    /// - Parameter check: finds the rule that a recipient breaks; nil does not look for it. A row without a zone is always
    ///   a fault.
    /// - Throws: the exit code, after printing the rows that break a rule.
    func read(_ check: RecipientFileReader.Check?) throws {
        reader.check = check
        var (count, bytes) = (0, 0)
        while count <= AudienceList.inlineLimit, bytes <= RecipientsFile.inlineBytes, let element = try reader.next() {
            try add(element)
            (count, bytes) = (count + 1, bytes + element.count + 1)
        }
        if bytes > RecipientsFile.inlineBytes { excess = "more than \(RecipientsFile.inlineBytes) bytes of \(noun)" }
        if count > AudienceList.inlineLimit { excess = "more than \(AudienceList.inlineLimit) \(noun)" }
        if excess != nil, reader.canRewind || reader.faults.count > 0 { try reader.checkRest() }
        try reader.faults.throwIfAny(advice: Self.advice)
        guard count > 0 else { throw Outcome.usage.because("\(source): no \(noun); give one per line") }
        guard excess != nil, reader.canRewind else { return }
        groups = [:]
        try reader.rewind()
    }

    private func add(_ element: [UInt8]) throws {
        let instant = reader.instantMs
        if groups[instant] == nil {
            guard groups.count < ZoneInstants.most else {
                throw Outcome.usage.because(
                    "\(source): zones with more than \(ZoneInstants.most) instants, so nothing was pushed; correct the zones"
                )
            }
            groups[instant] = Group()
        }
        groups[instant]?.elements.append(element)
        groups[instant]?.bytes += element.count
        groups[instant]?.count += 1
    }

    /// Writes the recipients of a long file to the lists; does nothing for a short one. After an error no list is left.
    /// - Parameter key: a new name for a list.
    func write(_ client: RedisClient, key: () -> String) async throws {
        guard let excess else { return }
        Console.error("fanfare: \(excess): writing them to a list for each instant first")
        do {
            for instant in instants { try await flush(instant, client, key) }
            while reader.faults.count == 0, let element = try reader.next() {
                try add(element)
                let instant = reader.instantMs
                guard let group = groups[instant], group.elements.count >= 1_000 || group.bytes >= 1 << 20 else {
                    continue
                }
                try await flush(instant, client, key)
            }
            // Lines of a pipe are checked only now, and a file may have changed since it was checked.
            if reader.faults.count > 0 { try reader.checkRest() }
            try reader.faults.throwIfAny(advice: Self.advice)
            for instant in instants { try await flush(instant, client, key) }
        } catch {
            await deleteLists()
            throw error
        }
        guard !groups.isEmpty else { throw Outcome.failed.because("\(source): the file changed while it was read") }
    }

    private func flush(_ instant: Int64, _ client: RedisClient, _ key: () -> String) async throws {
        guard let group = groups[instant], !group.elements.isEmpty else { return }
        var list = group.list ?? AudienceList(key(), client, startMs: instant, noun: noun)
        groups[instant] = Group(count: group.count, list: list)
        try await list.append(group.elements) { $0 }
        groups[instant]?.list = list
    }

    func deleteLists() async {
        for list in groups.values.compactMap(\.list) { await list.delete() }
    }
}
