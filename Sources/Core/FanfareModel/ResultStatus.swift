/// The final word on one recipient.
public enum ResultStatus: String, Equatable, Sendable, CaseIterable {
    /// Accepted by FCM; seen by nobody yet.
    case sent
    case failed
    /// Ended after an attempt that nobody answered.
    case unknown
    case cancelled
    case expired
}
