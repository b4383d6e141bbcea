package import StreamWire

/// A page of a job's results, and the cursor of the next page.
///
/// The stream holds the results of all jobs of the project, so the reading for one page is bounded: a page may be empty
/// although more follow.
package struct ResultPage: Sendable {
    private static let maximumReads = 50
    private static let maximumBytes = 8 << 20

    /// `<entry>/<number of its results already returned>`.
    package struct Cursor: Equatable, Sendable {
        package var entry: String
        package var given: Int

        package init(entry: String, given: Int) { (self.entry, self.given) = (entry, given) }

        package var text: String { "\(entry)/\(given)" }
    }

    package private(set) var results: [JobResult] = []
    /// Ids of skipped entries of the job that no worker wrote.
    package private(set) var unreadable: [String] = []
    /// nil on the last page.
    package private(set) var next: Cursor?
    /// The last entry that was looked at, where the results of an open job continue; nil if there was none.
    package private(set) var last: Cursor?

    /// - Parameters:
    ///   - status: the job's status, whose times bound the reading.
    ///   - limit: results of the page.
    package static func read<Redis: RedisSending>(
        _ redis: Redis,
        _ keys: ProjectKeys,
        of status: JobStatus,
        after cursor: Cursor?,
        _ filter: ResultFilter,
        limit: Int = 100
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
                    if page.results.count >= limit { return page }
                }
            }
            if let last = chunk.last { page.last = Cursor(entry: last, given: .max) }
            page.next = chunk.isEnd ? nil : page.last ?? page.next
            if chunk.isEnd { return page }
        }
        return page
    }
}

extension ResultPage.Cursor {
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, Identifiers.isEntry(String(parts[0])), let given = UInt64(parts[1]) else {
            return nil
        }
        self.init(entry: String(parts[0]), given: Int(clamping: given))
    }
}
