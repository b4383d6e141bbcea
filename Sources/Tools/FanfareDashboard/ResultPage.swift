internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel
internal import StreamWire

/// Some of one job's results, and where the next ones are.
///
/// The stream holds the results of all jobs of the project, so what one page may read is bounded: it may be empty though
/// more follows.
struct ResultPage: Sendable {
    static let pageSize = 100
    private static let entriesAtOnce = 20
    private static let maxReads = 25

    /// `<entry>/<results of it that were given>`.
    struct Cursor: Equatable {
        var entry: String
        var given: Int

        init(entry: String, given: Int) { (self.entry, self.given) = (entry, given) }

        init?(_ text: String) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, Identifiers.isEntry(String(parts[0])), let given = Int(parts[1]), given >= 0 else {
                return nil
            }
            self.init(entry: String(parts[0]), given: given)
        }

        var text: String { "\(entry)/\(given)" }
    }

    private(set) var results: [JSONValue] = []
    /// Ids of the job's entries that no worker wrote; left out.
    private(set) var unreadable: [String] = []
    /// nil when there is nothing behind it.
    private(set) var next: Cursor?

    /// - Parameters:
    ///   - status: of the job; its times bound what is read.
    ///   - failedOnly: leaves out what is `sent`.
    static func read<Redis: RedisSending>(
        _ redis: Redis,
        _ keys: ProjectKeys,
        of status: JobStatus,
        after cursor: Cursor?,
        failedOnly: Bool
    ) async throws -> ResultPage {
        var page = ResultPage()
        var from = cursor?.entry ?? status.createdMs.map { "\($0)" } ?? "-"
        // Entries get their ids from the server's clock, the end from its snapshot of it.
        let end = status.isOver ? status.finishedMs.map { "\($0 + 5_000)" } ?? "+" : "+"
        for _ in 0..<maxReads {
            let reply = try await redis.reply(
                to: RedisCommand("XRANGE", keys.results, from, end, "COUNT", "\(entriesAtOnce)")
            )
            let values = reply.array ?? []
            for value in values {
                guard let entry = StreamEntry(value) else { continue }
                from = "(" + entry.id
                page.next = Cursor(entry: entry.id, given: .max)
                guard entry.fields.contains(where: { $0.name == "job" && $0.value.elementsEqual(status.id.utf8) })
                else { continue }
                let given = entry.id == cursor?.entry ? cursor?.given ?? 0 : 0
                guard let readable = try? ResultEntry(entry) else {
                    page.unreadable.append(entry.id)
                    continue
                }
                page.append(readable, from: given, failedOnly: failedOnly)
                if page.results.count >= pageSize { return page }
            }
            if values.count < entriesAtOnce {
                page.next = nil
                return page
            }
        }
        return page
    }

    private mutating func append(_ entry: ResultEntry, from given: Int, failedOnly: Bool) {
        for (index, result) in entry.results.enumerated().dropFirst(given) {
            if failedOnly, result.status == .sent { continue }
            results.append(.object(result.json))
            next = Cursor(entry: entry.id, given: index + 1)
            if results.count >= Self.pageSize { return }
        }
    }
}
