internal import FanfareModel

/// The wait before the next attempt that an answer asks for: by its `Retry-After`, or by Google's `RetryInfo`.
struct RetryAdvice: Equatable {
    private let header: RetryAfter
    private let both: RetryAfter

    /// - Parameters:
    ///   - info: the `retryDelay` of a RetryInfo.
    ///   - nowMs: Unix milliseconds, for a date.
    init(_ answer: HTTPAnswer, info: RetryAfter = .none, nowMs: Int64) {
        header = RetryAfterParser.read(answer.retryAfter, date: answer.date, nowMs: nowMs)
        both = header.joined(with: info)
    }

    /// The wait in milliseconds; nil if none is asked for, or one that cannot be read.
    var waitMs: Int64? {
        if case .wait(let ms) = both { ms } else { nil }
    }

    /// The least wait in milliseconds after a value that cannot be read; 0 for any other.
    var floorMs: Int64 {
        if case .unreadable(let ms) = both { ms } else { 0 }
    }

    /// Whether a `Retry-After` that can be read came: a 503 with it was not processed.
    var hasHeader: Bool {
        if case .wait = header { true } else { false }
    }
}
