/// What one device says to one message.
enum DeviceOutcome: Equatable, Sendable {
    case accepted(Platform, canonical: String?, delayMs: Int64, isLost: Bool)
    case refused(DeviceRefusal)
}

enum DeviceRefusal: Equatable, Sendable {
    case unregistered, appleUnregistered, appleDisabled, invalid, mismatch, auth, package, urgentAppleData
    case retryable(RetryableError)

    var isRetryable: Bool {
        if case .retryable = self { return true }
        return false
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
        case .retryable(.deviceRate): return .deviceRate(token: token)
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
        case .retryable(.quota), .retryable(.deviceRate): return "DeviceMessageRateExceeded"
        }
    }
}

extension Simulator {
    mutating func ask(_ token: String, traits: MessageTraits) -> DeviceOutcome {
        guard Recipients.isToken(token) else { return .refused(.invalid) }
        var platform = Platform.android
        var delayMs: Int64 = 0
        var canonical: String?
        var isLost = false
        switch TokenBehaviour(token) {
        case .healthy(let own): platform = own
        case .unregistered: return .refused(.unregistered)
        case .invalid: return .refused(.invalid)
        case .mismatch: return .refused(.mismatch)
        case .auth: return .refused(.auth)
        case .canonical(let name): canonical = name
        case .retryable(let error, let times): if stillFails(token, times: times) { return .refused(.retryable(error)) }
        case .slow(let milliseconds): delayMs = milliseconds
        case .lost(let times): isLost = stillFails(token, times: times)
        }
        if let device = devices[token] {
            platform = device.platform
            switch device.state {
            case .healthy: break
            case .unregistered: return .refused(platform == .apple ? .appleUnregistered : .unregistered)
            case .disabled: return .refused(.appleDisabled)
            }
            if platform == .android, let wanted = traits.restrictedPackage, let package = device.package,
                wanted != package
            {
                return .refused(.package)
            }
        }
        if platform == .apple, traits.isUrgentAppleData { return .refused(.urgentAppleData) }
        return .accepted(platform, canonical: canonical, delayMs: delayMs, isLost: isLost)
    }

    /// A message that a topic, a condition or a group sends on: devices that cannot take it are skipped in silence.
    mutating func deliver(
        to tokens: [String],
        traits: MessageTraits,
        from: String,
        source: Delivery.Source,
        messageID: String,
        project: SimulatedProject,
        now: Int64
    ) {
        for token in tokens {
            guard case .accepted(let platform, _, _, _) = ask(token, traits: traits) else { continue }
            deliveries.add(
                Delivery(
                    token: token,
                    platform: platform,
                    timeMs: now,
                    messageID: messageID,
                    senderID: project.senderID,
                    from: from,
                    source: source
                )
            )
        }
    }
}
