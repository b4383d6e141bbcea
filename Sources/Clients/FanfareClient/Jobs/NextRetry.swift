internal import StreamWire

extension FanfareOperator {
    /// When the job's next retry is due, Unix milliseconds; nil if none is among the project's next retries.
    public func nextRetryMs(of job: String) async throws -> Int64? {
        var next: Int64?
        for queue in JobInquiry.retryQueues(keys) {
            let reply = try await redis.reply(to: RedisCommand("ZRANGE", queue, "0", "199", "WITHSCORES"))
            let due = JobInquiry.firstDueMs(of: job, in: reply.array?.compactMap(\.string) ?? [])
            next = [next, due].compactMap { $0 }.min()
        }
        guard let next else { return nil }
        // Due times are on the project's clock. A user may not be permitted to read its offset, which is rarely not 0.
        let offset = try? await redis.reply(to: JobInquiry.clockOffset(keys)).string.flatMap { Int64($0) }
        return next.subtractingReportingOverflow(offset ?? 0).partialValue
    }
}
