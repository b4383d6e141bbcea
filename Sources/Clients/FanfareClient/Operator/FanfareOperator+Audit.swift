internal import StreamWire

extension FanfareOperator {
    /// The last changes that operators made to the project and its jobs, newest first; at most 1,000 are kept.
    public func audit(limit: Int = 100) async throws -> [AuditEntry] {
        guard limit > 0 else { return [] }
        let reply = try await redis.reply(to: HistoryInquiry.audit(keys, most: min(limit, 1_000)))
        return (reply.array ?? []).compactMap { StreamEntry($0) }.map { entry in
            AuditEntry(
                atMs: entry.milliseconds ?? 0,
                actor: entry.text("actor") ?? "",
                action: entry.text("action") ?? "",
                target: entry.text("target") ?? "",
                reason: entry.text("reason") ?? ""
            )
        }
    }
}
