/// The final word on one recipient.
public enum ResultStatus: String, Equatable, Sendable, CaseIterable {
    /// Accepted by FCM; not necessarily delivered.
    case sent
    case failed
    /// Ended after an attempt without an answer.
    case unknown
    case cancelled
    case expired
}
