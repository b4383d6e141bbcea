internal import FanfareModel

/// What HTTP v1 answers for a recipient's error: the inverse of the table by which workers read FCM's answers.
///
/// The codes, statuses and sentences are FCM's (`fcm-facts.md` 2.9). Where Fanfare's error has no counterpart, the row
/// takes the code that makes no client forget a token or repeat what would not help:
///
/// - `UNSPECIFIED_ERROR` is no refusal of this client, whatever FCM's status was: a 403 or 404 without `FcmError` is
///   about the project's credentials, and several clients read any 404 as a dead token.
/// - `TRANSPORT` never reached FCM, so a repetition is safe.
/// - `EMPTY_GROUP` and `TOO_MANY_TOPICS` have no `FcmError`; the reason of `ErrorInfo` names them.
struct V1ErrorRow {
    var code: CanonicalCode
    /// The `errorCode` of `FcmError`; nil for an error that FCM's enumeration lacks.
    var fcmCode: String?
    /// The reason of `ErrorInfo`.
    var reason: String?
    var message: String

    private init(_ code: CanonicalCode, _ fcmCode: ErrorCode?, _ message: String, reason: ErrorCode? = nil) {
        (self.code, self.fcmCode, self.message) = (code, fcmCode?.rawValue, message)
        self.reason = reason?.rawValue
    }

    init(_ error: ErrorCode) {
        switch error {
        case .unregistered: self.init(.notFound, error, "Requested entity was not found.")
        case .invalidArgument: self.init(.invalidArgument, error, "Request contains an invalid argument.")
        case .senderIDMismatch: self.init(.permissionDenied, error, "SenderId mismatch")
        case .thirdPartyAuthError: self.init(.unauthenticated, error, "Auth error from APNS or Web Push Service")
        case .quotaExceeded: self.init(.resourceExhausted, error, "Quota exceeded.")
        case .unavailable, .transport: self.init(.unavailable, .unavailable, "The service is currently unavailable.")
        case .internalError: self.init(.internalError, error, "Internal error encountered.")
        case .unspecified: self.init(.unknown, error, "FCM refused the message for a reason without a code.")
        case .emptyGroup: self.init(.failedPrecondition, nil, "The device group has no members.", reason: error)
        case .tooManyTopics:
            self.init(.failedPrecondition, nil, "The registration has too many topic subscriptions.", reason: error)
        }
    }
}
