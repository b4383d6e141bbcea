/// A worker's report of FCM's answers, sent with its next claim; a multicast counts as one answer.
public struct AnswerReport: Equatable, Sendable {
    /// Answers since the last claim that Redis confirmed.
    public var answers: Int
    /// Answers among them that were a 5xx with Retry-After.
    public var refused: Int
    /// Answers among them that accepted no recipient because FCM had too much to do or failed.
    public var failing: Int
    /// How long the longest of those still has to wait, in milliseconds.
    public var retryAfterMs: Int64
    /// How long ago the first of the answers came, in milliseconds.
    public var spanMs: Int64

    public init(answers: Int = 0, refused: Int = 0, failing: Int = 0, retryAfterMs: Int64 = 0, spanMs: Int64 = 0) {
        self.answers = answers
        self.refused = refused
        self.failing = failing
        self.retryAfterMs = retryAfterMs
        self.spanMs = spanMs
    }
}
