/// The devices, and the rules by which one accepts or refuses a message.
///
/// Only described devices are stored. Every other token is a healthy Android device in the foreground, unless its
/// prefix says otherwise (``TokenBehaviour``).
struct Devices: Equatable, Sendable {
    /// The app instance behind a token.
    enum Instance: Equatable, Sendable {
        /// - Parameter token: the instance's current token, which differs from the given one if the app replaced it.
        case known(token: String, Device)
        case unknown
        /// An old token that no longer works.
        case replaced
    }

    static let most = 1_000_000
    /// Old tokens of one instance that may still work.
    static let maximumFormer = 16

    private var described: [ExactText: Device] = [:]
    private(set) var buckets = DeviceBuckets()
    private var failures = RepeatedFailures()

    /// nil for a token that was never described, and for one that was replaced.
    subscript(token: String) -> Device? { described[token].flatMap { $0.successor == nil ? $0 : nil } }

    /// The tokens of the described devices, without replaced ones.
    var names: [String] { described.lazy.filter { $0.value.successor == nil }.map(\.key.text) }

    func instance(_ token: String, nowMs: Int64) -> Instance {
        guard let device = described[token] else { return .unknown }
        guard let successor = device.successor else { return .known(token: token, device) }
        guard nowMs < successor.worksUntilMs, let current = described[successor.token] else { return .replaced }
        return .known(token: successor.token, current)
    }

    /// The app instance behind a token with its current token; a device of the prefix's platform if it is not known.
    func current(_ token: String, nowMs: Int64) -> (token: String, device: Device) {
        if case .known(let instance, let device) = instance(token, nowMs: nowMs) { return (instance, device) }
        return (token, Device(platform: TokenBehaviour(token).platform))
    }

    /// True if FCM knows that the token's registration has ended.
    func isGone(_ token: String, nowMs: Int64) -> Bool {
        switch instance(token, nowMs: nowMs) {
        case .unknown: return false
        case .replaced: return true
        case .known(_, let device): return DevicePolicy.isGone(device, nowMs: nowMs)
        }
    }

    func successor(of token: String) -> Device.Successor? { described[token]?.successor }

    // MARK: Changes

    /// - Returns: false if there are too many devices already.
    mutating func put(_ token: String, _ device: Device) -> Bool {
        guard described[token] != nil || described.count < Self.most else { return false }
        described[token] = device
        return true
    }

    /// Gives the app behind `old` the token `new`, which is not taken yet; false if there are too many devices.
    mutating func replace(_ old: String, by new: String, worksUntilMs: Int64) -> Bool {
        guard var device = self[old], described.count < Self.most, described[new] == nil else { return false }
        var former = device.formerTokens + [old]
        // Beyond the limit the oldest tokens stop working at once.
        while former.count > Self.maximumFormer { described[former.removeFirst()]?.successor?.worksUntilMs = Int64.min }
        for token in former { described[token]?.successor?.token = new }
        described[old] = Device(successor: Device.Successor(token: new, worksUntilMs: worksUntilMs))
        device.formerTokens = former
        described[new] = device
        buckets.rename(old, to: new)
        return true
    }

    /// An attempt at an uninstalled app tells FCM that its registration has ended.
    mutating func markUnregistered(_ token: String) { described[token]?.state = .unregistered }

    // MARK: Admission

    /// Decides whether the device behind a token accepts a message. An accepted message counts against its rate.
    ///
    /// - Parameter isTrial: nothing reaches the device, so nothing counts against its rate.
    mutating func admit(
        _ token: String,
        traits: MessageTraits,
        senderID: String,
        isTrial: Bool,
        nowMs: Int64
    ) -> DeviceOutcome {
        var platform = Platform.android
        var delayMs: Int64 = 0
        var canonical: String?
        var isLost = false
        switch TokenBehaviour(token) {
        case .healthy(let own): platform = own
        case .refused(let failure): return .refused(failure)
        case .canonical(let name): canonical = name
        case .retryable(let error, let times):
            if failures.fails(token, times: times) { return .refused(.retryable(error)) }
        case .slow(let milliseconds): delayMs = milliseconds
        case .lost(let times): isLost = failures.fails(token, times: times)
        }
        var current = token
        switch instance(token, nowMs: nowMs) {
        case .unknown: break
        case .replaced: return .refused(.unregistered)
        case .known(let instance, let device):
            if let failure = DevicePolicy.failure(of: device, traits: traits, senderID: senderID, nowMs: nowMs) {
                return .refused(failure)
            }
            platform = device.platform
            current = instance
            if instance != token { canonical = instance }
        }
        if platform == .apple, traits.isUrgentAppleData { return .refused(.urgentAppleData) }
        if !isTrial, let seconds = consumeRate(current, platform, nowMs: nowMs) {
            return .refused(.tooOften(seconds: seconds))
        }
        return .accepted(platform, canonical: canonical, delayMs: delayMs, isLost: isLost)
    }

    /// Counts one message; returns nil, or the whole seconds until the device accepts another one.
    private mutating func consumeRate(_ instance: String, _ platform: Platform, nowMs: Int64) -> Int64? {
        switch platform {
        case .android: return buckets.consume(instance, nowMs: nowMs)
        case .web: return nil
        case .apple:
            guard var rate = self[instance]?.rate else { return nil }
            let isFree = rate.consume(1, nowMs: nowMs)
            described[instance]?.rate = rate
            return isFree ? nil : rate.secondsLeft(nowMs: nowMs)
        }
    }
}
