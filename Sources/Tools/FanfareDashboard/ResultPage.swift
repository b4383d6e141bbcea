internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel
internal import StreamWire

/// A page of a job's results, and the cursor of the next page.
///
/// The stream holds the results of all jobs of the project, so the reading for one page is bounded: a page may be empty
/// although more follow.
struct ResultPage: Sendable {
    static let pageSize = 100
    private static let entriesAtOnce = 20
    private static let maxReads = 25

    /// `<entry>/<number of its results already returned>`.
    struct Cursor: Equatable {
        var entry: String
        var given: Int

        var text: String { "\(entry)/\(given)" }
    }

    private(set) var results: [JSONValue] = []
    /// Ids of skipped entries of the job that no worker wrote.
    private(set) var unreadable: [String] = []
    /// nil on the last page.
    private(set) var next: Cursor?

    /// - Parameters:
    ///   - status: the job's status, whose times bound the reading.
    ///   - failedOnly: omits `sent` results.
    static func read<Redis: RedisSending>(
        _ redis: Redis,
        _ keys: ProjectKeys,
        of status: JobStatus,
        after cursor: Cursor?,
        failedOnly: Bool
    ) async throws -> ResultPage {
        var page = ResultPage()
        var from = cursor?.entry ?? status.createdMs.map { "\($0)" } ?? "-"
        // Ids of entries come from the server's clock, which may be ahead of finishedMs.
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
                for (index, result) in readable.results.enumerated().dropFirst(given) {
                    if failedOnly, result.status == .sent { continue }
                    page.results.append(.object(result.json))
                    page.next = Cursor(entry: entry.id, given: index + 1)
                    if page.results.count >= pageSize { return page }
                }
            }
            if values.count < entriesAtOnce {
                page.next = nil
                return page
            }
        }
        return page
    }
}

extension ResultPage.Cursor {
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, Identifiers.isEntry(String(parts[0])), let given = Int(parts[1]), given >= 0 else {
            return nil
        }
        self.init(entry: String(parts[0]), given: given)
    }
}
