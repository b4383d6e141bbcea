public import FanfareModel

/// The outcome of a recipient's first attempt, as `stop_if` counts it.
///
/// Later attempts never change it. A recipient that fails without a send counts as failed. Cancelled and expired
/// recipients had no attempt and have no such outcome. A recipient that waits for the project's probe has not had its
/// attempt yet.
public enum FirstAttempt: Hashable, Sendable {
    case sent
    /// The recipient waits for its retry: an error that is retried, or no answer with at least once delivery.
    case retryable
    /// No answer with `at_most_once`.
    case unknown
    case failed(ErrorCode)
    /// The recipient failed without a send. It counts as failed, and for no single error.
    case unsendable

    /// The outcome that a final result of a first attempt has.
    ///
    /// - Parameter error: of a failed result; nil counts as `UNSPECIFIED_ERROR`.
    /// - Returns: nil for cancelled and expired recipients.
    public init?(_ status: ResultStatus, error: ErrorCode? = nil) {
        switch status {
        case .sent: self = .sent
        case .failed: self = .failed(error ?? .unspecified)
        case .unknown: self = .unknown
        case .cancelled, .expired: return nil
        }
    }

    /// One byte for the sample in Redis. Upper-case letters are failed results. Letters are stored: none is ever reused.
    public var letter: UInt8 {
        switch self {
        case .sent: UInt8(ascii: "s")
        case .retryable: UInt8(ascii: "r")
        case .unknown: UInt8(ascii: "u")
        case .failed(.unregistered): UInt8(ascii: "A")
        case .failed(.invalidArgument): UInt8(ascii: "B")
        case .failed(.senderIDMismatch): UInt8(ascii: "C")
        case .failed(.thirdPartyAuthError): UInt8(ascii: "D")
        case .failed(.quotaExceeded): UInt8(ascii: "E")
        case .failed(.unavailable): UInt8(ascii: "F")
        case .failed(.internalError): UInt8(ascii: "G")
        case .failed(.unspecified): UInt8(ascii: "H")
        case .failed(.transport): UInt8(ascii: "I")
        case .failed(.emptyGroup): UInt8(ascii: "J")
        case .failed(.tooManyTopics): UInt8(ascii: "K")
        case .unsendable: UInt8(ascii: "L")
        }
    }
}
