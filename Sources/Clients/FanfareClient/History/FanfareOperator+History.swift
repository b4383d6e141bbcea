internal import FanfareModel
internal import StreamWire

extension FanfareOperator {
    /// The history of the last `spanMs` milliseconds, at most 24 hours: in steps of 10 s up to an hour, else of 5 min.
    ///
    /// The last step is the one that is not over yet; workers add to it every ten seconds.
    public func history(spanMs: Int64) async throws -> ProjectHistory {
        guard let nowMs = JobInquiry.milliseconds(try await redis.reply(to: JobInquiry.time)) else {
            throw FanfareClientError(.unexpectedReply, "TIME did not answer with a time")
        }
        let step: HistoryInquiry.Step = spanMs <= 3_600_000 ? .tenSeconds : .fiveMinutes
        let last = nowMs / step.milliseconds
        let count = min(step.count, max(1, (min(spanMs, 86_400_000) + step.milliseconds - 1) / step.milliseconds))
        let slots = (last - count + 1)...last
        async let texts = redis.reply(to: HistoryInquiry.slots(keys, step, slots))
        async let marks = redis.reply(to: HistoryInquiry.marks(keys, sinceMs: slots.lowerBound * step.milliseconds))
        async let quota = redis.reply(to: HistoryInquiry.quota(keys))
        return try await ProjectHistory(
            slots: slots,
            texts: texts.array ?? [],
            marks: (marks.array ?? []).compactMap { StreamEntry($0) },
            quota: quota.integer ?? 0,
            step: step,
            nowMs: nowMs
        )
    }
}

extension ProjectHistory {
    /// - Parameters:
    ///   - texts: the reply for `slots`.
    ///   - quota: the project's quota now.
    init(
        slots: ClosedRange<Int64>,
        texts: [RedisValue],
        marks: [StreamEntry],
        quota: Int64,
        step: HistoryInquiry.Step,
        nowMs: Int64
    ) {
        var samples: [HistorySample] = []
        var known: [Bool] = []
        for (slot, text) in zip(slots, texts) {
            let counts = HistoryInquiry.counts(text, slot: slot)
            samples.append(HistorySample(atMs: slot * step.milliseconds, counts: counts ?? [:]))
            known.append(counts != nil)
        }
        // Workers record nothing while a project is idle, but its quota stays.
        var quota = quota
        for index in samples.indices.reversed() {
            if known[index] { quota = samples[index].quotaPerMinute } else { samples[index].quotaPerMinute = quota }
        }
        self.init(
            samples: samples,
            marks: marks.compactMap { entry in
                guard let atMs = entry.milliseconds, let kind = entry.text("kind") else { return nil }
                return HistoryMark(atMs: atMs, kind: .init(rawValue: kind), text: entry.text("text") ?? "")
            },
            stepMs: step.milliseconds,
            nowMs: nowMs
        )
    }
}

extension HistorySample {
    init(atMs: Int64, counts: [String: Int64]) {
        self.init(atMs: atMs)
        sent = counts[HistoryRecord.status(.sent)] ?? 0
        failed = counts[HistoryRecord.status(.failed)] ?? 0
        unknown = counts[HistoryRecord.status(.unknown)] ?? 0
        retries = counts[HistoryRecord.retries] ?? 0
        maybeDup = counts[HistoryRecord.maybeDup] ?? 0
        waiting = counts[HistoryRecord.waiting] ?? 0
        quotaPerMinute = counts[HistoryRecord.quota] ?? 0
        for (name, count) in counts where name.hasPrefix(HistoryRecord.errorPrefix) {
            errors[String(name.dropFirst(HistoryRecord.errorPrefix.count))] = count
        }
        for bucket in latency.counts.indices { latency.counts[bucket] = counts[HistoryRecord.latency(bucket)] ?? 0 }
    }
}
