/// A count of first attempts that a condition of `stop_if` limits.
///
/// Errors that are retried, `quota_exceeded`, `unavailable`, `internal` and `transport`, are no measures: a first attempt
/// does not end with them. Errors of groups and topics are none either, because such jobs have no `stop_if`.
public enum StopMeasure: String, CaseIterable, Sendable {
    /// Every failed result.
    case failed
    case unknown
    // Failed results with one error, in lower case.
    case unregistered
    case invalidArgument = "invalid_argument"
    case senderIDMismatch = "sender_id_mismatch"
    case thirdPartyAuthError = "third_party_auth_error"
    case unspecifiedError = "unspecified_error"

    static let retriedErrors = ["quota_exceeded", "unavailable", "internal", "transport"]
}
