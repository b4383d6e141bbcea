internal import FanfareClient
internal import FanfareJSON

/// A project's history as JSON columns, one value a step: the charts draw columns, and objects would repeat each name
/// hundreds of times.
///
/// Counts are of the step alone. A step without a record has nulls, and a step without a request has no latency.
struct HistoryJSON {
    /// The spans that the page offers, seconds.
    static let spans: [Int64] = [300, 3_600, 86_400]
    /// Errors with a column of their own; all others are counted as `other`.
    private static let maximumErrors = 6

    let history: ProjectHistory

    var object: JSONObject {
        let samples = history.samples
        func column(_ value: (HistorySample) -> Int64) -> JSONValue {
            .array(samples.map { Self.isRecorded($0) ? .number(JSONNumber(value($0))) : .null })
        }
        func latency(_ share: Double) -> JSONValue {
            .array(samples.map { $0.latency.percentile(share).flatMap(FleetJSON.tenths) ?? .null })
        }
        return [
            "now_ms": .number(JSONNumber(history.nowMs)), "step_ms": .number(JSONNumber(history.stepMs)),
            "at_ms": .array(samples.map { .number(JSONNumber($0.atMs)) }), "sent": column(\.sent),
            "failed": column(\.failed), "unknown": column(\.unknown), "retries": column(\.retries),
            "maybe_dup": column(\.maybeDup), "waiting": column(\.waiting), "quota_per_minute": column(\.quotaPerMinute),
            "p50_ms": latency(0.5),
            "p95_ms": latency(0.95), "p99_ms": latency(0.99), "errors": .object(errors), "marks": .array(marks),
        ]
    }

    /// A worker always records the quota.
    private static func isRecorded(_ sample: HistorySample) -> Bool {
        sample.quotaPerMinute > 0 || sample.results > 0 || sample.retries > 0 || sample.waiting > 0
    }

    /// A column for each of the most frequent errors, most frequent first.
    private var errors: JSONObject {
        var totals: [String: Int64] = [:]
        for sample in history.samples {
            for (error, count) in sample.errors { totals[error] = (totals[error] ?? 0).addingClamped(count) }
        }
        let named = totals.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.maximumErrors).map(\.key)
        var object = JSONObject()
        for error in named {
            object[error] = .array(history.samples.map { .number(JSONNumber($0.errors[error] ?? 0)) })
        }
        if totals.count > named.count {
            let others = history.samples.map { sample in
                sample.errors.reduce(Int64(0)) { named.contains($1.key) ? $0 : $0.addingClamped($1.value) }
            }
            object["other"] = .array(others.map { .number(JSONNumber($0)) })
        }
        return object
    }

    private var marks: [JSONValue] {
        history.marks.map { mark in
            .object([
                "at_ms": .number(JSONNumber(mark.atMs)), "kind": .string(mark.kind.rawValue),
                "text": .string(mark.text),
            ])
        }
    }
}

extension Int64 {
    /// The sum, or the nearest number: anything may write counts into Redis.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? (other > 0 ? .max : .min) : sum
    }
}
