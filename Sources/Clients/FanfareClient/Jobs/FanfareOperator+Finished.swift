internal import StreamWire

extension FanfareOperator {
    /// The jobs that are over, newest first: of the last 1,000 that have an `id` or more than one recipient, the jobs
    /// that are still kept. Jobs that ended before an upgrade to this version are not among them.
    /// - Parameters:
    ///   - limit: number of jobs after which the page ends; jobs that ended in the same millisecond stay on one page.
    ///   - before: only jobs that ended before this time, Unix milliseconds: the `finishedMs` of the last page's last job.
    public func finishedJobs(limit: Int = 100, before: Int64? = nil) async throws -> [JobStatus] {
        var found: [JobStatus] = []
        var expired: [String] = []
        var read = 0
        pages: while limit > 0 {
            let most = max(20, min(limit + 1, 200))
            let command = HistoryInquiry.finished(keys, before: before, skipping: read, most: most)
            let flat = try await redis.reply(to: command).array ?? []
            let ids = stride(from: 0, to: flat.count, by: 2).compactMap { flat[$0].string }
            let statuses = try await Self.statuses(of: ids, redis, keys)
            for id in ids {
                guard let status = statuses[id] else {
                    expired.append(id)
                    continue
                }
                // An id that was pushed again may run.
                guard status.isOver else { continue }
                if found.count >= limit, status.finishedMs != found.last?.finishedMs { break pages }
                found.append(status)
            }
            read += ids.count
            if ids.count < most { break }
        }
        // The caller may have no right to write.
        if !expired.isEmpty { _ = try? await redis.reply(to: HistoryInquiry.forget(keys, jobs: expired)) }
        return found
    }
}
