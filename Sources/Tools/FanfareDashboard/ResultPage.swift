internal import FanfareClient
internal import StreamWire

/// A page of a job's results, and the cursor of the next page.
///
/// The stream holds the results of all jobs of the project, so the reading for one page is bounded: a page may be empty
/// although more follow.
struct ResultPage: Sendable {
    static let pageSize = 100
    private static let maximumReads = 50
    private static let maximumBytes = 8 << 20

    /// `<entry>/<number of its results already returned>`.
    struct Cursor: Equatable {
        var entry: String
        var given: Int

        var text: String { "\(entry)/\(given)" }
    }

    private(set) var results: [JobResult] = []
    /// Ids of skipped entries of the job that no worker wrote.
    private(set) var unreadable: [String] = []
    /// nil on the last page.
    private(set) var next: Cursor?

    /// - Parameter status: the job's status, whose times bound the reading.
    static func read<Redis: RedisSending>(
        _ redis: Redis,
        _ keys: ProjectKeys,
        of status: JobStatus,
        after cursor: Cursor?,
        _ filter: ResultFilter
    ) async throws -> ResultPage {
        var page = ResultPage()
        var reader = ResultReader(redis, keys, of: status, from: cursor?.entry)
        var bytes = 0
        for _ in 0..<maximumReads where bytes < maximumBytes {
            let chunk = try await reader.next()
            bytes += chunk.bytes
            page.unreadable += chunk.unreadable
            for entry in chunk.entries {
                let given = entry.id == cursor?.entry ? cursor?.given ?? 0 : 0
                for (index, result) in entry.results.enumerated().dropFirst(given) where filter.matches(result) {
                    page.results.append(result)
                    page.next = Cursor(entry: entry.id, given: index + 1)
                    if page.results.count >= pageSize { return page }
                }
            }
            if chunk.isEnd {
                page.next = nil
                return page
            }
            if let last = chunk.last { page.next = Cursor(entry: last, given: .max) }
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
