import FanfareJSON

/// A legacy message from JSON, XMPP or plain text, in one shape and with its defaults.
struct LegacyMessage {
    static let defaultLifetimeSeconds: Int64 = 2_419_200

    /// As the sender wrote it.
    let notification: JSONObject
    /// Strings. A key that is an option's name has FCM's value.
    let data: JSONObject
    /// Priority, lifetime and collapse key as the sender wrote them; the priority has its default.
    let options: JSONObject
    let isContentAvailable: Bool
    let isMutable: Bool

    init(json body: [UInt8]) {
        self.init((try? JSONParser.parse(body))?.object ?? JSONObject())
    }

    /// Form fields are strings; ``PlainTextRequest`` has refused a value of the wrong type.
    init(plainText body: [UInt8]) {
        var root = JSONObject()
        var data = JSONObject()
        for (name, value) in FormText.pairs(body) ?? [] {
            if name.hasPrefix("data.") {
                data[String(name.dropFirst("data.".count))] = .string(value)
            } else {
                root[name] = .string(value)
            }
        }
        root["data"] = .object(data)
        self.init(root)
    }

    private init(_ root: JSONObject) {
        notification = root["notification"]?.object ?? JSONObject()
        isContentAvailable = root["content_available"] == .bool(true)
        isMutable = root["mutable_content"] == .bool(true)
        var options = JSONObject()
        options["priority"] = root["priority"] ?? (notification.isEmpty ? "normal" : "high")
        for name in ["time_to_live", "collapse_key"] { if let value = root[name] { options[name] = value } }
        self.options = options
        data = Self.texts(root["data"]?.object ?? JSONObject(), options: root, defaults: options)
    }

    var isHigh: Bool { options["priority"] == "high" }
    var collapseKey: String? { options["collapse_key"]?.nonEmptyString }

    /// Seconds; nil if the sender gave none.
    var givenLifetime: Int64? {
        options["time_to_live"].flatMap { $0.number?.wholeInt64 ?? $0.string.flatMap { Int64($0) } }
    }

    var lifetimeSeconds: Int64 { givenLifetime ?? Self.defaultLifetimeSeconds }

    /// The options in the reference's table. They may be data keys, but arrive with FCM's value.
    private static let optionNames = [
        "collapse_key", "priority", "content_available", "mutable_content", "time_to_live", "restricted_package_name",
        "dry_run",
    ]

    private static func texts(_ data: JSONObject, options: JSONObject, defaults: JSONObject) -> JSONObject {
        var result = JSONObject()
        for member in data.members { result[member.key] = .string(text(member.value)) }
        for name in optionNames where result[name] != nil {
            if let value = options[name] ?? defaults[name] { result[name] = .string(text(value)) }
        }
        return result
    }

    private static func text(_ value: JSONValue) -> String { value.string ?? value.jsonText }

    /// A list of strings, from an array or from JSON in a string.
    static func arguments(_ value: JSONValue?) -> JSONValue? {
        guard let value else { return nil }
        if value.array != nil { return value }
        guard let text = value.string, case .array(let items)? = try? JSONParser.parse(Array(text.utf8)) else {
            return nil
        }
        return .array(items)
    }
}
