import FanfareJSON

/// The request `POST /devices` about one token. A field that is not named keeps its value.
struct DeviceRequest: Equatable, Sendable {
    static let names: Set<ExactText> = [
        "token", "platform", "state", "package", "bundle", "senders", "app_state", "online", "inactive_days",
        "normal_delay_ms", "lowers_priority", "rate_per_minute", "channels", "topics", "refreshed_to",
        "old_token_works_ms", "receipts",
    ]
    static let maximumSenders = 100
    static let maximumChannels = 1_000
    static let longestDelayMs = V1Rules.longestTTLSeconds * 1_000
    /// How long an old token works by default. FCM promises nothing.
    static let usualGraceMs: Int64 = 7 * 86_400_000

    var token: String
    /// All topics of the device; nil leaves them.
    var topics: Set<String>?
    var refreshedTo: String?
    var oldTokenWorksMs = usualGraceMs
    private let fields: JSONObject

    /// - Parameter object: all its names are in ``names``.
    init(_ object: JSONObject) throws(ControlError) {
        guard let token = object["token"]?.string, Recipients.isToken(token) else {
            throw ControlError("token: a token")
        }
        self.token = token
        fields = object
        if object["package"] != nil, object["bundle"] != nil { throw ControlError("bundle: the same as package") }
        let most = Subscriptions.maximumTopics
        topics = try object.strings(
            "topics",
            most: most,
            orElse: "topics: at most \(most) topic names",
            Recipients.isTopic
        ).map { Set($0) }
        if let value = object["refreshed_to"] {
            guard let new = value.string, Recipients.isToken(new), new != token else {
                throw ControlError("refreshed_to: another token")
            }
            refreshedTo = new
        }
        let rule = "old_token_works_ms: with refreshed_to, 0 to 28 days"
        if let grace = try object.integer("old_token_works_ms", 0...Self.longestDelayMs, orElse: rule) {
            guard refreshedTo != nil else { throw ControlError(rule) }
            oldTokenWorksMs = grace
        }
    }

    /// - Returns: the device after the change.
    func applied(to device: Devices.Device, nowMs: Int64) throws(ControlError) -> Devices.Device {
        var device = device
        if let platform: Platform = try fields.word("platform", orElse: "platform: android, apple or web") {
            device.platform = platform
            if !device.appState.exists(on: platform) { device.appState = .foreground }
            if platform != .apple { device.rate = nil }
        }
        let states = "state: healthy, unregistered, disabled or uninstalled"
        device.state = try fields.word("state", orElse: states) ?? device.state
        let appStates = "app_state: foreground or background, on android doze, on apple force_quit or low_power"
        if let state: AppState = try fields.word("app_state", orElse: appStates) {
            guard state.exists(on: device.platform) else { throw ControlError(appStates) }
            device.appState = state
        }
        try applyConnection(to: &device, nowMs: nowMs)
        try applyApp(to: &device)
        let delayRule = "normal_delay_ms: 0 to 28 days"
        device.normalDelayMs =
            try fields.integer("normal_delay_ms", 0...Self.longestDelayMs, orElse: delayRule) ?? device.normalDelayMs
        device.isHighLowered = try fields.bool("lowers_priority") ?? device.isHighLowered
        device.receipts = try fields.word("receipts", orElse: "receipts: object or string") ?? device.receipts
        if let value = fields["rate_per_minute"] {
            guard device.platform == .apple else { throw ControlError("rate_per_minute: of an apple device only") }
            let rule = "rate_per_minute: 0 to 1000000, or null"
            let limit = value == .null ? nil : try fields.integer("rate_per_minute", 0...1_000_000, orElse: rule)
            device.rate = limit.map { QuotaWindow(limit: Int($0)) }
        }
        return device
    }

    private func applyConnection(to device: inout Devices.Device, nowMs: Int64) throws(ControlError) {
        // The token may have expired since the last request about it.
        if fields["state"] == nil, DevicePolicy.isExpired(device, nowMs: nowMs) { device.state = .unregistered }
        let isOnline = try fields.bool("online")
        if isOnline == true {
            device.connection = .online
        } else if isOnline == false, device.isOnline {
            device.connection = .offline(sinceMs: nowMs)
        }
        guard fields["inactive_days"] != nil else { return }
        guard device.platform == .android else { throw ControlError("inactive_days: of an android device only") }
        let rule = "inactive_days: 0 to 36500, of a device that is not online"
        guard let days = try fields.integer("inactive_days", 0...36_500, orElse: rule), isOnline != true else {
            throw ControlError(rule)
        }
        device.connection = .offline(sinceMs: nowMs - days * DevicePolicy.dayMs)
    }

    private func applyApp(to device: inout Devices.Device) throws(ControlError) {
        for name in ["package", "bundle"] {
            guard let value = fields[name] else { continue }
            guard value == .null || (1...255).contains(value.string?.utf8.count ?? 0) else {
                throw ControlError("\(name): 1 to 255 bytes, or null")
            }
            device.package = value.string
        }
        if fields["senders"] == .null {
            device.senders = nil
        } else {
            let rule = "senders: at most \(Self.maximumSenders) sender ids, or null"
            let ids = try fields.strings("senders", most: Self.maximumSenders, orElse: rule, Recipients.isToken)
            if let ids { device.senders = Set(ids) }
        }
        if fields["channels"] == .null {
            device.channels = nil
        } else {
            let rule = "channels: at most \(Self.maximumChannels) channel ids, or null"
            let ids = try fields.strings("channels", most: Self.maximumChannels, orElse: rule) {
                $0.utf8.count <= 1_000
            }
            if let ids { device.channels = Set(ids.map { ExactText($0) }) }
        }
    }
}
