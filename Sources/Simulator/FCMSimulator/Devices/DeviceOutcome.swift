/// How one device answers one message.
enum DeviceOutcome: Equatable, Sendable {
    case accepted(Platform, canonical: String?, delayMs: Int64, isLost: Bool)
    case refused(DeviceFailure)
}

enum DeviceFailure: Equatable, Sendable {
    case unregistered, appleUnregistered, appleDisabled, invalid, mismatch, auth, package, urgentAppleData
    case retryable(RetryableError)
    /// The device accepts no message for so many seconds.
    case tooOften(seconds: Int64)

    var isUnregistered: Bool { legacyCode == "NotRegistered" }

    var isRetryable: Bool {
        switch self {
        case .retryable, .tooOften: return true
        default: return false
        }
    }

    /// - Parameter field: `message.token` or `message.fid`.
    func apiError(token: String, field: String) -> APIError {
        switch self {
        case .unregistered: return .unregistered
        case .appleUnregistered: return .appleUnregistered
        case .appleDisabled: return .appleDisabled
        case .invalid: return .invalidRecipient(field: field)
        case .mismatch: return .senderMismatch
        case .auth: return .thirdPartyAuth
        case .package:
            return .invalid(
                "The restricted package name does not match the token.",
                field: "message.android.restricted_package_name"
            )
        case .urgentAppleData:
            return .invalid("apns-priority must be 5 for a message without an alert.", field: "message.apns.headers")
        case .retryable(.unavailable): return .unavailable
        case .retryable(.internalError): return .internalError
        case .retryable(.quota): return .quotaExceeded
        case .retryable(.deviceRate), .tooOften: return .deviceRate(token: token)
        }
    }

    var legacyCode: String {
        switch self {
        case .unregistered, .appleUnregistered, .appleDisabled: return "NotRegistered"
        case .invalid: return "InvalidRegistration"
        case .mismatch: return "MismatchSenderId"
        case .auth: return "InvalidApnsCredential"
        case .package: return "InvalidPackageName"
        case .urgentAppleData: return "InvalidParameters"
        case .retryable(.unavailable): return "Unavailable"
        case .retryable(.internalError): return "InternalServerError"
        case .retryable(.quota), .retryable(.deviceRate), .tooOften: return "DeviceMessageRateExceeded"
        }
    }
}
