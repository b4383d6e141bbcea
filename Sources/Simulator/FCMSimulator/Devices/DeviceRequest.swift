import FanfareJSON

/// The request `POST /devices` about one token. A field that is not named keeps its value.
struct DeviceRequest: Equatable, Sendable {
    struct Refusal: Error, Equatable, Sendable {
        var reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    static let names: Set<String> = [
        "token", "platform", "state", "package", "bundle", "senders", "app_state", "online", "inactive_days",
        "normal_delay_ms", "lowers_priority", "rate_per_minute", "channels", "topics", "refreshed_to",
        "old_token_works_ms", "receipts",
    ]
    static let mostSenders = 100
    static let mostChannels = 1_000
    static let longestDelayMs = V1Rules.longestTTLSeconds * 1_000
    /// How long an old token works unless the request says. FCM promises nothing.
    static let usualGraceMs: Int64 = 7 * 86_400_000

    var token: String
    /// All topics of the device; nil leaves them.
    var topics: Set<String>?
    var refreshedTo: String?
    var oldTokenWorksMs = usualGraceMs
    private let fields: JSONObject

    /// - Parameter object: all its names are in ``names``.
    init(_ object: JSONObject) throws(Refusal) {
        guard let token = object["token"]?.string, Recipients.isToken(token) else { throw Refusal("token: a token") }
        self.token = token
        fields = object
        if object["package"] != nil, object["bundle"] != nil { throw Refusal("bundle: the same as package") }
        if let value = object["topics"] {
            topics = try Self.strings(value, most: Subscriptions.mostTopics, "topics: at most 2000 topic names") {
                Recipients.isTopic($0)
            }
        }
        if let value = object["refreshed_to"] {
            guard let new = value.string, Recipients.isToken(new), new != token else {
                throw Refusal("refreshed_to: another token")
            }
            refreshedTo = new
        }
        if let value = object["old_token_works_ms"] {
            guard refreshedTo != nil, let grace = value.number?.int64, grace >= 0, grace <= Self.longestDelayMs else {
                throw Refusal("old_token_works_ms: with refreshed_to, 0 to 28 days")
            }
            oldTokenWorksMs = grace
        }
    }

    /// - Returns: the device after the change.
    func applied(to device: Devices.Device, nowMs: Int64) throws(Refusal) -> Devices.Device {
        var device = device
        if let value = fields["platform"] {
            device.platform = try Self.word(value, "platform: android, apple or web")
            if !device.appState.exists(on: device.platform) { device.appState = .foreground }
            if device.platform != .apple { device.rate = nil }
        }
        if let value = fields["state"] {
            device.state = try Self.word(value, "state: healthy, unregistered, disabled or uninstalled")
        }
        if let value = fields["app_state"] {
            let states = "app_state: foreground or background, on android doze, on apple force_quit or low_power"
            let state: AppState = try Self.word(value, states)
            guard state.exists(on: device.platform) else { throw Refusal(states) }
            device.appState = state
        }
        try applyConnection(to: &device, nowMs: nowMs)
        try applyApp(to: &device)
        if let value = fields["normal_delay_ms"] {
            guard let delay = value.number?.int64, delay >= 0, delay <= Self.longestDelayMs else {
                throw Refusal("normal_delay_ms: 0 to 28 days")
            }
            device.normalDelayMs = delay
        }
        if let value = fields["lowers_priority"] {
            guard let lowers = value.bool else { throw Refusal("lowers_priority: true or false") }
            device.isHighLowered = lowers
        }
        if let value = fields["receipts"] { device.receipts = try Self.word(value, "receipts: object or string") }
        if let value = fields["rate_per_minute"] {
            guard device.platform == .apple else { throw Refusal("rate_per_minute: of an apple device only") }
            device.rate = nil
            if value != .null {
                guard let limit = value.number?.int64, limit >= 0, limit <= 1_000_000 else {
                    throw Refusal("rate_per_minute: 0 to 1000000, or null")
                }
                device.rate = QuotaWindow(limit: Int(limit))
            }
        }
        return device
    }

    private func applyConnection(to device: inout Devices.Device, nowMs: Int64) throws(Refusal) {
        // The token may have expired since the last request about it.
        if fields["state"] == nil, DevicePolicy.isExpired(device, nowMs: nowMs) { device.state = .unregistered }
        if let value = fields["online"] {
            guard let isOnline = value.bool else { throw Refusal("online: true or false") }
            if isOnline {
                device.connection = .online
            } else if device.isOnline {
                device.connection = .offline(sinceMs: nowMs)
            }
        }
        guard let value = fields["inactive_days"] else { return }
        guard device.platform == .android else { throw Refusal("inactive_days: of an android device only") }
        guard fields["online"]?.bool != true, let days = value.number?.int64, days >= 0, days <= 36_500 else {
            throw Refusal("inactive_days: 0 to 36500, of a device that is not online")
        }
        device.connection = .offline(sinceMs: nowMs - days * DevicePolicy.dayMs)
    }

    private func applyApp(to device: inout Devices.Device) throws(Refusal) {
        for name in ["package", "bundle"] {
            guard let value = fields[name] else { continue }
            if value == .null {
                device.package = nil
                continue
            }
            guard let package = value.string, (1...255).contains(package.utf8.count) else {
                throw Refusal("\(name): 1 to 255 bytes, or null")
            }
            device.package = package
        }
        if let value = fields["senders"] {
            let rule = "senders: at most \(Self.mostSenders) sender ids, or null"
            device.senders = try Self.orNull(value) { (value) throws(Refusal) in
                try Self.strings(value, most: Self.mostSenders, rule) { Recipients.isToken($0) }
            }
        }
        if let value = fields["channels"] {
            let rule = "channels: at most \(Self.mostChannels) channel ids, or null"
            device.channels = try Self.orNull(value) { (value) throws(Refusal) in
                try Self.strings(value, most: Self.mostChannels, rule) { $0.utf8.count <= 1_000 }
            }
        }
    }

    // MARK: Values

    private static func orNull(
        _ value: JSONValue,
        _ read: (JSONValue) throws(Refusal) -> Set<String>
    ) throws(Refusal) -> Set<String>? {
        value == .null ? nil : try read(value)
    }

    private static func word<Word: RawRepresentable>(_ value: JSONValue, _ rule: String) throws(Refusal) -> Word
    where Word.RawValue == String {
        guard let word = value.string.flatMap(Word.init(rawValue:)) else { throw Refusal(rule) }
        return word
    }

    private static func strings(
        _ value: JSONValue,
        most: Int,
        _ rule: String,
        _ fits: (String) -> Bool
    ) throws(Refusal) -> Set<String> {
        let names = value.array?.compactMap(\.string) ?? []
        guard let array = value.array, names.count == array.count, names.count <= most, names.allSatisfy(fits) else {
            throw Refusal(rule)
        }
        return Set(names)
    }
}
