internal import FanfareJSON

/// A string of a personal message, split into literals and placeholders.
///
/// The text is read from left to right, and the first rule that fits applies:
///
/// | text | meaning |
/// |---|---|
/// | `{{{{` | the two characters `{{` |
/// | `{{name}}` | the recipient's value; a recipient without the name fails |
/// | `{{name\|fallback}}` | the recipient's value, or the fallback for a recipient without the name |
/// | any other `{{` | an error |
/// | anything else | itself, `}}` and single braces included |
///
/// No white space is allowed beside a name. A fallback is everything between the first `|` and the first `}}` after it:
/// it may be empty and may contain `|` and single braces. Within a fallback `{{{{` is `{{`, and any other `{{` is an error.
/// So `{{{name}}` is an error (a bad name), `{{{{{name}}` is the text `{{{name}}`, `{{{{{{name}}` is `{{` followed by a
/// value, `{{{{name}}}}` is the text `{{name}}}}`, and `{{name}}}` is a value followed by `}`.
public struct PlaceholderText: Equatable, Sendable {
    public enum Part: Equatable, Sendable {
        case literal(String)
        /// The fallback is nil if the placeholder has none.
        case slot(PlaceholderName, fallback: String?)
    }

    /// In the order of the text. Literals may be adjacent.
    public let parts: [Part]

    /// - Parameter text: a string as its reader sees it, without JSON escapes.
    /// - Throws: for the first malformed placeholder.
    public init(_ text: String) throws(PlaceholderError) {
        let bytes = Array(text.utf8)
        var scanner = PlaceholderScanner(bytes, marks: .source)
        var parts: [Part] = []
        while let part = try scanner.part() {
            switch part {
            case .literal(let range): parts.append(.literal(String(decoding: bytes[range], as: UTF8.self)))
            case .slot(let slot):
                parts.append(.slot(slot.name, fallback: slot.fallback.map { String(decoding: $0, as: UTF8.self) }))
            }
        }
        self.parts = parts
    }

    /// Whether the text contains `{{`, which begins a placeholder or an error, or is escaped as `{{{{`.
    public static func hasBraces(_ text: String) -> Bool {
        var previous: UInt8 = 0
        for byte in text.utf8 {
            if byte == UInt8(ascii: "{"), previous == byte { return true }
            previous = byte
        }
        return false
    }

    /// The names in the order of the text, repetitions included.
    public var names: [PlaceholderName] {
        parts.compactMap { part in
            if case .slot(let name, _) = part { return name }
            return nil
        }
    }

    /// The text with each placeholder replaced.
    ///
    /// - Parameter value: returns the text for a placeholder's name and fallback.
    public func filled(_ value: (PlaceholderName, String?) -> String) -> String {
        var text = ""
        for part in parts {
            switch part {
            case .literal(let literal): text += literal
            case .slot(let name, let fallback): text += value(name, fallback)
            }
        }
        return text
    }
}

extension JSONValue {
    /// The value with `change` applied to each string that contains `{{`. Names of members stay.
    func mapPlaceholderTexts(_ change: (String) -> String) -> JSONValue {
        switch self {
        case .string(let text): .string(PlaceholderText.hasBraces(text) ? change(text) : text)
        case .array(let elements): .array(elements.map { $0.mapPlaceholderTexts(change) })
        case .object(let object): .object(object.mapPlaceholderTexts(change))
        case .null, .bool, .number: self
        }
    }
}

extension JSONObject {
    func mapPlaceholderTexts(_ change: (String) -> String) -> JSONObject {
        JSONObject(members.map { Member(key: $0.key, value: $0.value.mapPlaceholderTexts(change)) })
    }
}
