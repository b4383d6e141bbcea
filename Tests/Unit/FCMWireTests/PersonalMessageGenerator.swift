import FanfareJSON
import FanfareModel

/// Seeded personal messages in both formats. Every field that a template reads or moves may hold placeholders.
struct PersonalMessageGenerator {
    var random: ResponseGenerator

    init(seed: UInt64) { random = ResponseGenerator(seed: seed) }

    static let names = ["a", "ab", "abc", "name", "n_1"]

    private static let pieces = [
        "x", "é", "e\u{301}", "😀", "\"", "\\", "\n", "\u{1}", "\u{FFFE}", "/", ":", "{x", "}", "|", "&=+%", "%7B", "</",
        " ",
    ]
    private static let values = [
        "", "Ana", "\"", "\\", "\n\t\u{0}", "é", "\u{301}", "😀", "{{a}}", "{{{{", "}}", "https://x/", "http://",
        "s://x", "1",
        "\",\"", "\"]", "\\u007b", "a&b=c", "%7B", "PRIORITY_UNSPECIFIED", "default",
    ]

    mutating func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &random)] }

    mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    /// Any text without two opening braces side by side, which may follow and precede others.
    private mutating func plain() -> String {
        (0..<Int.random(in: 0...3, using: &random)).map { _ in pick(Self.pieces) }.joined()
    }

    /// A text with placeholders, fallbacks and literal braces.
    mutating func text() -> String {
        (0..<Int.random(in: 0...4, using: &random)).map { _ in
            switch Int.random(in: 0..<6, using: &random) {
            case 0: plain()
            case 1: "{{{{"
            case 2: "{{\(pick(Self.names))|\(fallback())}}"
            default: "{{\(pick(Self.names))}}"
            }
        }.joined()
    }

    private mutating func fallback() -> String { pick(["", "x", "\"", "\\", "é\n", "a|b", "{{{{", "\u{1}"]) }

    mutating func text(_ beginning: String) -> JSONValue { .string(beginning + text()) }

    /// Some value of `data` that is no string in half of the cases.
    private mutating func dataValue(depth: Int = 2) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &random) {
        case 0: 12
        case 1: true
        case 5, 6: .array((0..<Int.random(in: 0...2, using: &random)).map { _ in dataValue(depth: depth - 1) })
        case 7: .object(["k\"": dataValue(depth: depth - 1), "l": .null])
        default: .string(text())
        }
    }

    private mutating func data(strings: Bool) -> JSONValue {
        var data = JSONObject()
        for key in ["k", "k.\"é", "o"] where chance(2) { data[key] = strings ? .string(text()) : dataValue() }
        return .object(data)
    }

    /// Address or name of an icon or an action. Where the first text is a placeholder, translation may refuse it.
    private mutating func address() -> JSONValue {
        text(pick(["https://x/", "HTTPS://x/", "http://x/", "ic_", "httpsx", "://", chance(8) ? "" : "y"]))
    }

    private mutating func arguments() -> [JSONValue] {
        (0..<Int.random(in: 0...3, using: &random)).map { _ in .string(text()) }
    }

    mutating func legacy(_ transport: Transport, asText: Bool) -> JSONObject {
        var message = JSONObject()
        if chance(2) { message["data"] = data(strings: false) }
        if chance(3) { message["collapse_key"] = pick(["key", "a key that no topic may have, é"]) }
        if chance(2) { message["time_to_live"] = pick([0, 60, 2_419_200]) }
        if chance(4) { message["dry_run"] = .bool(chance(2)) }
        if chance(4), transport != .xmpp { message["restricted_package_name"] = "com.x" }
        if asText { return message }
        if chance(4) { message["priority"] = pick(["high", "normal"]) }
        if chance(4) { message["content_available"] = true }
        if chance(5) { return message }
        var notification = JSONObject()
        for name in ["title", "body", "subtitle", "color", "android_channel_id", "title_loc_key"] where chance(2) {
            notification[name] = .string(text())
        }
        for name in ["icon", "click_action"] where chance(2) { notification[name] = address() }
        if chance(3) { notification["tag"] = .string(text()) }
        if chance(3) { notification["sound"] = chance(2) ? .string(text()) : ["name": .string(text()), "critical": 1] }
        if chance(3) { notification["badge"] = "3" }
        for name in ["title_loc_args", "body_loc_args"] where chance(2) {
            let text = JSONValue.array(arguments()).jsonText
            notification[name] = .string(chance(2) ? text : " " + text + "\n")
        }
        if !notification.isEmpty { message["notification"] = .object(notification) }
        return message
    }

    /// - Parameter isTranslatable: whether each of its fields has a counterpart in legacy.
    mutating func v1(isTranslatable: Bool, asText: Bool) -> JSONObject {
        var message = JSONObject()
        if chance(2) { message["data"] = data(strings: true) }
        if asText {
            if chance(2) { message["android"] = ["collapse_key": "key", "ttl": "60s"] }
            return message
        }
        var (android, aps, alert) = (JSONObject(), JSONObject(), JSONObject())
        var (web, notification) = (JSONObject(), JSONObject())
        for name in ["title", "body"] where chance(2) {
            let text = JSONValue.string(text())
            notification[name] = text
            if chance(2) { android[name] = chance(12) ? "other" : text }
            if chance(3) { alert[name] = text }
        }
        for (camel, apple) in [("titleLocArgs", "title-loc-args"), ("body_loc_args", "loc-args")] where chance(3) {
            let list = JSONValue.array(arguments())
            (android[camel], alert[apple]) = (list, list)
        }
        for name in ["color", "tag", "channel_id", "icon", "sound"] where chance(3) { android[name] = .string(text()) }
        if chance(3) { web["icon"] = address() }
        if chance(3) { aps["badge"] = 7 }
        if chance(3) { (android["clickAction"], aps["category"]) = ("open", "open") }
        if !isTranslatable {
            if chance(2) { aps["own"] = [.string(text()), ["deep": .string(text())]] }
            if chance(2) { web["actions"] = [["title": .string(text())]] }
        }
        if !alert.isEmpty { aps["alert"] = .object(alert) }
        if chance(6), alert.isEmpty, let body = notification["body"] { aps["alert"] = body }
        if !notification.isEmpty { message["notification"] = .object(notification) }
        var androidConfig: JSONObject = chance(2) ? ["ttl": "60s"] : [:]
        if !android.isEmpty { androidConfig["notification"] = .object(android) }
        if !androidConfig.isEmpty { message["android"] = .object(androidConfig) }
        if !aps.isEmpty { message["apns"] = ["payload": ["aps": .object(aps)]] }
        var webpush = JSONObject()
        if !web.isEmpty { webpush["notification"] = .object(web) }
        if !isTranslatable, chance(3) { webpush["fcm_options"] = ["link": text("https://x/")] }
        if !webpush.isEmpty { message["webpush"] = .object(webpush) }
        return message
    }

    /// A value for most names.
    mutating func recipientValues() -> [String: String] {
        var values: [String: String] = [:]
        for name in Self.names where !chance(12) {
            values[name] = (0..<Int.random(in: 0...2, using: &random)).map { _ in pick(Self.values) }.joined()
        }
        return values
    }
}
