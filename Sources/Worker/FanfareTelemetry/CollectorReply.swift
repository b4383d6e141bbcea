internal import FanfareJSON
internal import FanfareModel

/// What a collector's answer, or the lack of one, means.
struct CollectorReply: Equatable {
    var answer: ExportMachine.Answer
    /// Spans or points that the collector rejected from a request that it accepted.
    var rejected = 0
    /// Why something was not taken, for the log; nil if everything was.
    var fault: String?

    /// - Parameter nowMs: Unix milliseconds, for a `Retry-After` that is a date.
    init(_ outcome: RequestOutcome, nowMs: Int64) {
        switch outcome {
        case .answered(let answer): self.init(answer, nowMs: nowMs)
        case .unsent(let reason), .refused(let reason), .ambiguous(let reason):
            self.init(answer: .unavailable(retryAfterMs: nil), fault: RawError.clean(reason.description))
        case .stanza:
            self.init(answer: .refused, fault: "not an HTTP answer")
        }
    }

    private init(answer: ExportMachine.Answer, fault: String) {
        self.answer = answer
        self.fault = fault
    }

    private init(_ http: HTTPAnswer, nowMs: Int64) {
        switch http.status {
        case 200..<300:
            answer = .accepted
            readPartialSuccess(http)
        case 408, 429, 502, 503, 504:
            let wait = RetryAfterParser.read(http.retryAfter, date: http.date, nowMs: nowMs)
            answer = .unavailable(retryAfterMs: wait.leastMs)
            fault = "status \(http.status)"
        default:
            answer = .refused
            fault = "status \(http.status)"
        }
    }

    private mutating func readPartialSuccess(_ http: HTTPAnswer) {
        guard http.isComplete,
            let value = try? JSONParser.parse(http.body, limits: JSONLimits(maximumDepth: 8, maximumBytes: 65_536)),
            let partial = value.object?["partialSuccess"]?.object
        else { return }
        let counts = ["rejectedSpans", "rejectedDataPoints"].compactMap { partial[$0] }
        // 64-bit integers are strings in protobuf's JSON; some collectors write numbers.
        let rejected = counts.compactMap { $0.number?.wholeInt64 ?? $0.string.flatMap { Int64($0) } }.first ?? 0
        self.rejected = Int(min(max(0, rejected), 1_000_000_000))
        let message = RawError.clean(partial["errorMessage"]?.string ?? "")
        if self.rejected > 0 || !message.isEmpty {
            fault = "\(self.rejected) rejected: \(message)"
        }
    }
}
