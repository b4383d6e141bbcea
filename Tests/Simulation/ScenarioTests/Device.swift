import FanfareJSON

/// A description of a device: the fields of `POST /devices`. A field that is nil keeps its value.
struct Device {
    enum Platform: String { case android, apple, web }
    enum State: String { case healthy, unregistered, disabled, uninstalled }
    enum AppState: String {
        case foreground, background, doze
        case forceQuit = "force_quit"
        case lowPower = "low_power"
    }
    /// How the `data` of its delivery receipts is written over XMPP.
    enum Receipts: String { case object, string }

    var platform: Platform?
    var state: State?
    var appState: AppState?
    var isOnline: Bool?
    /// For how many days it has been offline.
    var inactiveDays: Int64?
    var package: String?
    /// The Apple name of ``package``.
    var bundle: String?
    /// All topics of the device.
    var topics: [String]?
    /// The sender ids that may send to it.
    var senders: [String]?
    /// The Android channels that its app created.
    var channels: [String]?
    var normalDelayMs: Int64?
    var ratePerMinute: Int64?
    /// The token that replaces this one.
    var refreshedTo: String?
    var oldTokenWorksMs: Int64?
    var receipts: Receipts?

    var json: JSONObject {
        func number(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
        func list(_ names: [String]) -> JSONValue { .array(names.map { .string($0) }) }
        var object = JSONObject()
        object["platform"] = platform.map { .string($0.rawValue) }
        object["state"] = state.map { .string($0.rawValue) }
        object["app_state"] = appState.map { .string($0.rawValue) }
        object["online"] = isOnline.map { .bool($0) }
        object["inactive_days"] = inactiveDays.map(number)
        object["package"] = package.map { .string($0) }
        object["bundle"] = bundle.map { .string($0) }
        object["topics"] = topics.map(list)
        object["senders"] = senders.map(list)
        object["channels"] = channels.map(list)
        object["normal_delay_ms"] = normalDelayMs.map(number)
        object["rate_per_minute"] = ratePerMinute.map(number)
        object["refreshed_to"] = refreshedTo.map { .string($0) }
        object["old_token_works_ms"] = oldTokenWorksMs.map(number)
        object["receipts"] = receipts.map { .string($0.rawValue) }
        return object
    }
}

extension RawRepresentable where RawValue == String {
    /// The case of that name, for tests with a table of names.
    static func named(_ name: String) -> Self {
        guard let value = Self(rawValue: name) else {
            preconditionFailure("\(Self.self) has no case \(name)")
        }
        return value
    }
}
