internal import FanfareClient
internal import FanfareJSON

/// A field of a dead entry as the page shows it: tokens are masked, and long values are cut.
struct MaskedField {
    /// Fields that hold nothing but recipients.
    static let recipientFields: Set<String> = ["token", "tokens", "fid", "fids", "recipients", "group"]
    /// Fields that hold a JSON object, which is shown a member a line.
    private static let objectFields: Set<String> = ["message", "variants"]
    /// Elements of a list of recipients that are shown.
    private static let maximumElements = 200
    /// Larger values cannot be edited on the page.
    static let maximumBytes = 32_768
    private static let maximumPlainBytes = 12

    private let name: String
    private let value: [UInt8]

    init(name: String, value: [UInt8]) {
        self.name = name
        self.value = value
    }

    var json: JSONObject {
        var object: JSONObject = ["name": .string(name), "bytes": .number(JSONNumber(Int64(value.count)))]
        guard let text = String(validating: value, as: UTF8.self) else {
            object["shown"] = "not UTF-8"
            object["is_binary"] = true
            return object
        }
        guard Self.recipientFields.contains(name) else {
            let masked = Self.masked(text)
            let isWhole = value.count <= Self.maximumBytes
            let pretty = isWhole && Self.objectFields.contains(name) ? Self.pretty(masked) : nil
            object["shown"] = .string(pretty ?? Self.cut(masked, to: Self.maximumBytes))
            // The form of the page is filled with the text as shown, so it must be the whole text.
            if masked != text { object["is_masked"] = true }
            if !isWhole { object["is_cut"] = true }
            return object
        }
        object["is_masked"] = true
        guard let elements = Self.elements(value) else {
            object["shown"] = .string(Self.maskedToken(text))
            return object
        }
        object["count"] = .number(JSONNumber(Int64(elements.count)))
        object["elements"] = .array(elements.prefix(Self.maximumElements).map { .string(Self.shown($0)) })
        return object
    }

    /// A text of JSON with one member a line; nil for any other text, and where that would be much larger.
    private static func pretty(_ text: String) -> String? {
        guard let value = try? JSONParser.parse(Array(text.utf8), limits: JSONLimits()) else { return nil }
        let pretty = PrettyJSON.text(value)
        return pretty.utf8.count <= 4 * maximumBytes ? pretty : nil
    }

    /// The elements of a JSON array; nil if it is none.
    static func elements(_ value: [UInt8]) -> [JSONValue]? {
        guard value.first(where: { !" \t\r\n".utf8.contains($0) }) == UInt8(ascii: "[") else { return nil }
        return (try? JSONParser.parse(value, limits: JSONLimits()))?.array
    }

    private static func shown(_ element: JSONValue) -> String {
        if let token = element.string { return maskedToken(token) }
        guard var object = element.object else { return cut(masked(element.jsonText), to: 200) }
        for key in ["token", "fid"] {
            object[key] = object[key]?.string.map { .string(maskedToken($0)) } ?? object[key]
        }
        return cut(masked(JSONValue.object(object).jsonText), to: 200)
    }

    /// Short texts are no tokens, and are what is wrong with the entry.
    private static func maskedToken(_ text: String) -> String {
        text.utf8.count <= maximumPlainBytes ? text : TokenStory.masked(text)
    }

    /// Any text without the registration tokens in it. One pass: a producer chooses the text.
    static func masked(_ text: String) -> String {
        TokenScan(Array(text.utf8)).masked
    }

    /// Whether a text holds a token as this type masks it.
    static func holdsMask(_ text: String) -> Bool { text.contains(/…\[[0-9]+ characters\]/) }

    private static func cut(_ text: String, to bytes: Int) -> String {
        text.utf8.count <= bytes ? text : String(decoding: text.utf8.prefix(bytes), as: UTF8.self) + "…"
    }
}
