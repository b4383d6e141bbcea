internal import FanfareModel
internal import StreamWire

// Conversions between the model's requests and replies and the product's and the function library's.

extension NewsID {
    var text: String { "\(ms)-\(sequence)" }

    /// - Parameter text: see ``text``; any other string gives the id before all news.
    init(_ text: String) {
        let parts = text.split(separator: "-")
        guard parts.count == 2, let ms = Int64(parts[0]), let sequence = Int(parts[1]) else {
            self.init()
            return
        }
        self.init(ms: ms, sequence: sequence)
    }
}

extension RecipientHistory {
    /// - Parameter packed: see ``packed(with:)``.
    init(packed: String) {
        let parts = packed.split(separator: "|", maxSplits: 3, omittingEmptySubsequences: false)
        self.init(
            attempts: Int(parts[0]) ?? 0,
            firstAttemptMs: Int64(parts[1]) ?? 0,
            maybeDuplicate: parts[2] == "1"
        )
    }
}

extension RedisValue {
    fileprivate static func text(_ text: String) -> RedisValue { .bulk(Array(text.utf8)) }
    fileprivate static func number(_ number: Int) -> RedisValue { .integer(Int64(number)) }
    /// An array of names, each followed by its value. Names without a value are left out.
    fileprivate static func named(_ values: KeyValuePairs<String, RedisValue?>) -> RedisValue {
        .array(values.flatMap { name, value in value.map { [.text(name), $0] } ?? [] })
    }
}

extension ClaimAnswer {
    /// The reply of `claim` in the form that the product parses.
    func value(_ jobs: [ProductJob]) -> RedisValue {
        let news = news.flatMap { event -> [RedisValue] in
            let id = ProductJob.id(event.job)
            switch event.kind {
            case .stop(let epoch): return [.text("stop"), .text(id), .text("\(epoch)")]
            case .end(let status): return [.text("end"), .text(id), .text(status.rawValue)]
            }
        }
        return .named([
            "outcome": .text("ok"), "now": .integer(nowMs), "clock_offset": .number(0), "hold_ms": .integer(holdMs),
            "probe_ms": .number(0), "block": .text(""), "next_due": .integer(nextDueMs), "copying": .text(""),
            "suspect": .text(suspect?.rawValue ?? ""),
            "unfinished": .number(unfinished), "permits": .number(permits),
            "pause": .text(isPaused ? "an operator" : ""), "pressure": .text(""), "news_cursor": .text(cursor.text),
            "refused_cursor": .text("0"), "news": .array(news),
            "claims": .array(claims.map { $0.value(jobs[$0.name.job]) }),
        ])
    }
}

extension Given {
    /// The batch in the form of `claim`'s reply.
    fileprivate func value(_ job: ProductJob) -> RedisValue {
        func positions(_ fate: Fate) -> String {
            fates.indices.filter { fates[$0] == fate }.map(String.init).joined(separator: ",")
        }
        // The first holder of a batch sends to all its recipients.
        let isFirst = deliveries == 1
        return .named([
            "job": .text(ProductJob.id(name.job)), "batch": .text(name.batch), "epoch": .text("\(epoch)"),
            "pass": .text(name.isRetry ? "retry" : "first"), "from": .number(name.isRetry ? 0 : indexes.first ?? 0),
            "watermark": .number(watermark), "deliveries": .number(deliveries),
            "unsent": isFirst ? nil : .text(positions(.unsent)),
            "maybe_sent": isFirst ? nil : .text(positions(.maybeSent)), "recipients": recipients(job),
            "ending": ending.map { .text($0.rawValue) },
            "quarantined": isQuarantined ? .number(1) : nil, "crashes": isQuarantined ? .number(crashes) : nil,
        ])
    }

    private func recipients(_ job: ProductJob) -> RedisValue {
        guard name.isRetry else { return .text(indexes.map { job.recipient($0) }.joined(separator: "\n")) }
        return .array(
            zip(indexes, histories).flatMap { index, history -> [RedisValue] in
                [.number(index), .text(history.packed(with: job.recipient(index)))]
            }
        )
    }
}
