internal import FanfareModel

/// A code of the legacy protocol, the `error` of a recipient.
///
/// What clients do with each decides which one a result gets. node-gcm, python-gcm and rpush send again for
/// ``unavailable`` and ``internalServerError``; applications, go-fcm and rpush delete the token for ``notRegistered``,
/// ``invalidRegistration``, ``mismatchSenderID`` and ``missingRegistration``.
enum LegacyCode: String, Equatable, Sendable, CaseIterable {
    case missingRegistration = "MissingRegistration"
    case invalidRegistration = "InvalidRegistration"
    case notRegistered = "NotRegistered"
    case invalidPackageName = "InvalidPackageName"
    case mismatchSenderID = "MismatchSenderId"
    case invalidParameters = "InvalidParameters"
    case messageTooBig = "MessageTooBig"
    case invalidDataKey = "InvalidDataKey"
    case invalidTTL = "InvalidTtl"
    case unavailable = "Unavailable"
    case internalServerError = "InternalServerError"
    case deviceMessageRateExceeded = "DeviceMessageRateExceeded"
    case topicsMessageRateExceeded = "TopicsMessageRateExceeded"
    case invalidApnsCredential = "InvalidApnsCredential"
    // The rest is Fanfare's own. No client knows these words, so none sends again and none deletes a token.
    /// The outcome is unknown, or the job's `expires_at` passed.
    case deadlineExceeded = "DeadlineExceeded"
    /// An operator or the producer cancelled the job.
    case aborted = "Aborted"
    case unspecifiedError = "UnspecifiedError"
}

extension LegacyCode {
    /// The code of a result; nil for one that is `sent`.
    init?(_ result: ServedResult) {
        switch result.status {
        case .sent: return nil
        case .unknown, .expired: self = .deadlineExceeded
        case .cancelled: self = .aborted
        case .failed: self = Self.failed(result)
        }
    }

    private static func failed(_ result: ServedResult) -> LegacyCode {
        switch result.errorCode {
        case .unregistered: .notRegistered
        case .invalidArgument: invalidArgument(result)
        case .senderIDMismatch: .mismatchSenderID
        case .thirdPartyAuthError: .invalidApnsCredential
        case .quotaExceeded: result.kind.isBroadcast ? .topicsMessageRateExceeded : .deviceMessageRateExceeded
        // A send that never reached FCM may be repeated, too.
        case .unavailable, .transport: .unavailable
        case .internalError: .internalServerError
        case .unspecified, .emptyGroup, .tooManyTopics: .unspecifiedError
        }
    }

    /// Only proof against the token makes it ``invalidRegistration``: clients delete it.
    private static func invalidArgument(_ result: ServedResult) -> LegacyCode {
        if result.isBadToken { return .invalidRegistration }
        // Over a legacy transport FCM named the fault itself.
        let own = result.rawError.flatMap(LegacyCode.init(rawValue:))
        switch own {
        case .messageTooBig, .invalidDataKey, .invalidTTL, .invalidPackageName: return own ?? .invalidParameters
        default: return .invalidParameters
        }
    }
}
