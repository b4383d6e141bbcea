/// What one device says to one message.
enum DeviceOutcome: Equatable, Sendable {
    case accepted(Platform, canonical: String?, delayMs: Int64, isLost: Bool)
    case refused(DeviceRefusal)
}

enum DeviceRefusal: Equatable, Sendable {
    case unregistered, appleUnregistered, appleDisabled, invalid, mismatch, auth, package, urgentAppleData
    case retryable(RetryableError)
    /// A bucket of the device is empty for so many seconds.
    case tooOften(seconds: Int64)

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

extension Simulator {
    /// - Parameter isTrial: nothing reaches the device, and so nothing is taken out of its buckets.
    mutating func ask(
        _ token: String,
        traits: MessageTraits,
        project: SimulatedProject,
        isTrial: Bool = false,
        now: Int64
    ) -> DeviceOutcome {
        guard Recipients.isToken(token) else { return .refused(.invalid) }
        // A group's key is no device, whoever's group it is.
        switch groups.lookup(token, project: "") {
        case .notAGroup: break
        case .gone: return .refused(.unregistered)
        case .group, .foreign: return .refused(.invalid)
        }
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
        var instance = token
        switch devices.instance(token, nowMs: now) {
        case .unknown: break
        case .replaced: return .refused(.unregistered)
        case .known(let current, let device):
            if let refusal = refusal(of: device, traits: traits, project: project, now: now) {
                return .refused(refusal)
            }
            platform = device.platform
            instance = current
            if current != token { canonical = current }
        }
        if platform == .apple, traits.isUrgentAppleData { return .refused(.urgentAppleData) }
        if !isTrial, let seconds = takeRate(instance, platform, now: now) {
            return .refused(.tooOften(seconds: seconds))
        }
        return .accepted(platform, canonical: canonical, delayMs: delayMs, isLost: isLost)
    }

    private func refusal(
        of device: Devices.Device,
        traits: MessageTraits,
        project: SimulatedProject,
        now: Int64
    ) -> DeviceRefusal? {
        switch device.state {
        case .healthy, .uninstalled: break
        case .unregistered: return device.platform == .apple ? .appleUnregistered : .unregistered
        case .disabled: return .appleDisabled
        }
        if DevicePolicy.isExpired(device, nowMs: now) { return .unregistered }
        if let senders = device.senders, !senders.contains(project.senderID) { return .mismatch }
        if device.platform == .android, let wanted = traits.restrictedPackage, let package = device.package,
            wanted != package
        {
            return .package
        }
        return nil
    }

    /// Takes one message out of what the device may be sent.
    ///
    /// - Returns: nil, or the whole seconds until it takes more.
    private mutating func takeRate(_ instance: String, _ platform: Platform, now: Int64) -> Int64? {
        switch platform {
        case .android: return buckets.take(instance, nowMs: now)
        case .web: return nil
        case .apple:
            guard var device = devices[instance], var rate = device.rate else { return nil }
            let isFree = rate.take(1, nowMs: now)
            device.rate = rate
            // It is there already, and so there is room for it.
            _ = devices.put(instance, device)
            return isFree ? nil : rate.secondsLeft(nowMs: now)
        }
    }
}
