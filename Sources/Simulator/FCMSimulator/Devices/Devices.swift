/// Devices that were described by name. Every other token is a device of its own accord: healthy, online, in the
/// foreground, and nothing is kept of it.
struct Devices: Equatable, Sendable {
    /// One app instance on one device.
    struct Device: Equatable, Sendable {
        enum State: String, Equatable, Sendable {
            case healthy, unregistered, disabled
            /// The app is gone, and FCM finds out when it next tries to deliver something.
            case uninstalled
        }

        /// A token that its app has replaced.
        struct Successor: Equatable, Sendable {
            var token: String
            /// Until then the old one still works, Unix milliseconds.
            var worksUntilMs: Int64
        }

        /// Connected to FCM, or, since a time in Unix milliseconds, not.
        enum Connection: Equatable, Sendable { case online, offline(sinceMs: Int64) }

        var platform = Platform.android
        var state = State.healthy
        /// The app's package or bundle, when the device has a particular one.
        var package: String?
        /// Who may send to it; nil is everybody.
        var senders: Set<String>?
        var appState = AppState.foreground
        var connection = Connection.online
        /// How much later a message of normal priority comes while the app is in the background.
        var normalDelayMs: Int64 = 0
        /// FCM treats high priority as normal, as it does with an app whose urgent messages show nothing.
        var isHighLowered = false
        /// Apple: what the device takes in a minute.
        var rate: QuotaWindow?
        /// Android: the channels its app created.
        var channels: Set<String>?
        /// Set on an old token only, about which the rest then says nothing.
        var successor: Successor?
        /// The tokens that this one replaced, oldest first.
        var formerTokens: [String] = []
        /// How the `data` of its delivery receipts is written over XMPP.
        var receipts = ReceiptForm.object

        var isOnline: Bool { connection == .online }
    }

    /// What a token stands for.
    enum Instance: Equatable, Sendable {
        /// - Parameter token: another than was asked for, when the app has replaced that one.
        case known(token: String, Device)
        case unknown
        /// An old token whose time is over.
        case replaced
    }

    static let most = 1_000_000
    /// Old tokens of one instance that may still work.
    static let mostFormer = 16

    private var devices: [String: Device] = [:]

    /// nil for a token that was never described, and for one that was replaced.
    subscript(token: String) -> Device? { devices[token].flatMap { $0.successor == nil ? $0 : nil } }

    /// Those that were described, without the tokens that were replaced.
    var names: [String] { devices.lazy.filter { $0.value.successor == nil }.map(\.key) }

    func instance(_ token: String, nowMs: Int64) -> Instance {
        guard let device = devices[token] else { return .unknown }
        guard let successor = device.successor else { return .known(token: token, device) }
        guard nowMs < successor.worksUntilMs, let current = devices[successor.token] else { return .replaced }
        return .known(token: successor.token, current)
    }

    /// True when FCM knows that a token leads nowhere any more.
    func isGone(_ token: String, nowMs: Int64) -> Bool {
        switch instance(token, nowMs: nowMs) {
        case .unknown: return false
        case .replaced: return true
        case .known(_, let device): return DevicePolicy.isGone(device, nowMs: nowMs)
        }
    }

    func successor(of token: String) -> Device.Successor? { devices[token]?.successor }

    func isTaken(_ token: String) -> Bool { devices[token] != nil }

    /// - Returns: false when there are too many already.
    mutating func put(_ token: String, _ device: Device) -> Bool {
        guard devices[token] != nil || devices.count < Self.most else { return false }
        devices[token] = device
        return true
    }

    /// The app behind `old` gets the token `new`, which nobody has yet.
    ///
    /// - Returns: false when there are too many already.
    mutating func replace(_ old: String, by new: String, worksUntilMs: Int64) -> Bool {
        guard var device = self[old], devices.count < Self.most, devices[new] == nil else { return false }
        var former = device.formerTokens + [old]
        // One that was replaced often enough is over before its time.
        while former.count > Self.mostFormer { devices[former.removeFirst()]?.successor?.worksUntilMs = Int64.min }
        for token in former { devices[token]?.successor?.token = new }
        devices[old] = Device(successor: Device.Successor(token: new, worksUntilMs: worksUntilMs))
        device.formerTokens = former
        devices[new] = device
        return true
    }
}
