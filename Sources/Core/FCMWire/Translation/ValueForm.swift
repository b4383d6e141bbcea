internal import FanfareJSON
internal import FanfareModel

/// How one value is written in a v1 message.
enum ValueForm: Equatable, Sendable {
    /// The same string.
    case text
    /// A platform's own text: never written, and read only to refuse one that differs.
    case override
    case data
    /// A true boolean is 1 for APNs.
    case flag
    case androidPriority, urgency, apnsPriority
    /// A protobuf duration, seconds as text, and a moment that is known only at the attempt.
    case duration, seconds, expiration
    case collapseKey, collapseID, webTopic
    case badge
    case drawable, imageURL, link
    case androidSound, appleSound
    /// A true boolean is the sound named `default`; never written.
    case defaultSound
    /// Legacy: a JSON array written as a string; v1: an array of strings.
    case arguments

    /// The value in a v1 message; nil for a legacy value that has no place there.
    ///
    /// - Parameter path: the field, as an error names it.
    func fromLegacy(_ value: JSONValue, at path: [String]) throws(TranslationError) -> JSONValue? {
        switch self {
        case .text: return .string(try value.requireString(at: path))
        case .override, .defaultSound: return nil
        case .data: return value
        case .flag: return try value.requireBool(at: path) ? 1 : nil
        case .androidPriority: return try value.requirePriority(at: path) == "high" ? "HIGH" : "NORMAL"
        case .urgency: return .string(try value.requirePriority(at: path))
        case .apnsPriority: return try value.requirePriority(at: path) == "high" ? "10" : "5"
        case .duration: return .string("\(try value.requireSeconds(at: path))s")
        case .seconds: return .string("\(try value.requireSeconds(at: path))")
        case .expiration:
            _ = try value.requireSeconds(at: path)
            return ""
        case .collapseKey, .collapseID, .webTopic: return collapse(try value.requireString(at: path))
        case .badge: return try Self.badge(value, at: path)
        case .drawable: return Self.isWebURL(try value.requireString(at: path)) ? nil : value
        case .imageURL, .link: return Self.isSecureURL(try value.requireString(at: path)) ? value : nil
        case .androidSound: return value.object == nil ? .string(try value.requireString(at: path)) : nil
        case .appleSound: return value.object == nil ? .string(try value.requireString(at: path)) : value
        case .arguments: return .array(try Self.arguments(value, at: path))
        }
    }

    /// The value in a legacy message; nil for one that means the same as its absence.
    ///
    /// - Parameter path: the field in the producer's spelling, as an error names it.
    func fromV1(_ value: JSONValue, at path: [String]) throws(TranslationError) -> JSONValue? {
        switch self {
        case .text, .override, .collapseKey, .collapseID, .webTopic, .drawable, .link, .androidSound:
            return .string(try value.requireString(at: path))
        case .imageURL:
            let text = try value.requireString(at: path)
            // Legacy: "all URL values need HTTPS". A relative address is as safe as the page that has it.
            guard !Self.isWebURL(text) || Self.isSecureURL(text) else {
                throw TranslationError(path, "must be an https address")
            }
            return .string(text)
        case .data, .appleSound: return value
        case .defaultSound: return try value.requireBool(at: path) ? "default" : nil
        case .flag:
            if value == .bool(true) || value.number?.wholeInt64 == 1 { return true }
            if value == .bool(false) || value.number?.wholeInt64 == 0 { return nil }
            throw TranslationError(path, "must be 0 or 1")
        case .androidPriority, .urgency, .apnsPriority:
            return try legacyPriority(try value.requireString(at: path), at: path)
        case .duration:
            guard let seconds = DurationText.wholeSeconds(try value.requireString(at: path)) else {
                throw TranslationError(path, "must be seconds such as 3.5s")
            }
            return .number(JSONNumber(seconds))
        case .seconds:
            guard let seconds = Int64(try value.requireString(at: path)), seconds >= 0 else {
                throw TranslationError(path, "must be a number of seconds")
            }
            return .number(JSONNumber(seconds))
        case .expiration:
            guard try value.requireString(at: path) == "0" else {
                throw TranslationError(path, "names a moment, which has no counterpart in legacy")
            }
            return 0
        case .badge:
            guard let count = value.number?.wholeInt64, count >= 0 else {
                throw TranslationError(path, "must be a whole number, 0 or more")
            }
            return .string(String(count))
        case .arguments:
            guard let array = value.array, array.allSatisfy({ $0.string != nil }) else {
                throw TranslationError(path, "must be an array of strings")
            }
            return .string(value.jsonText)
        }
    }

    private func legacyPriority(_ text: String, at path: [String]) throws(TranslationError) -> JSONValue {
        switch (self, text.lowercased()) {
        case (.apnsPriority, "10"), (.androidPriority, "high"), (.urgency, "high"): return "high"
        case (.apnsPriority, "5"), (.apnsPriority, "1"), (.androidPriority, "normal"), (.urgency, "normal"),
            (.urgency, "low"), (.urgency, "very-low"):
            return "normal"
        default: throw TranslationError(path, "has no counterpart in legacy")
        }
    }

    /// A key that does not fit where it must go is replaced by its hash: equal keys stay equal.
    private func collapse(_ key: String) -> JSONValue? {
        if key.isEmpty { return nil }
        let fits: Bool
        switch self {
        case .collapseID: fits = key.utf8.count <= 64 && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        case .webTopic:
            fits = key.utf8.count <= 32 && key.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_".utf8.contains($0) }
        default: fits = true
        }
        return .string(fits ? key : NameDigest.name32(key))
    }

    private static func isWebURL(_ text: String) -> Bool { begins(text, with: "http://") || isSecureURL(text) }

    private static func isSecureURL(_ text: String) -> Bool { begins(text, with: "https://") }

    /// Compares bytes, as intake does: what follows a scheme cannot change it.
    private static func begins(_ text: String, with scheme: String) -> Bool {
        text.utf8.count >= scheme.utf8.count
            && zip(text.utf8, scheme.utf8).allSatisfy { ($0.isASCIIAlphanumeric ? $0 | 0x20 : $0) == $1 }
    }

    /// The beginnings of a text that decide where it goes, in lower case; empty where its content decides nothing.
    var decidingSchemes: [String] {
        switch self {
        case .drawable, .imageURL: ["http://", "https://"]
        case .link: ["https://"]
        default: []
        }
    }

    private static func badge(_ value: JSONValue, at path: [String]) throws(TranslationError) -> JSONValue {
        let count = value.string.flatMap { Int64($0) } ?? value.number?.wholeInt64
        guard let count, count >= 0 else { throw TranslationError(path, "must be a whole number, written as a string") }
        return .number(JSONNumber(count))
    }

    private static func arguments(_ value: JSONValue, at path: [String]) throws(TranslationError) -> [JSONValue] {
        var list = value.array
        if let text = value.string {
            list =
                (try? JSONParser.parse(Array(text.utf8), limits: JSONLimits(maximumDepth: 1, maximumBytes: 65_536)))?
                .array
        }
        guard let list, list.allSatisfy({ $0.string != nil }) else {
            throw TranslationError(path, "must be a JSON array of strings, written as a string")
        }
        return list
    }
}

/// Checked access to a value; `path` is what an error names.
extension JSONValue {
    func requireString(at path: [String]) throws(TranslationError) -> String {
        guard let string else { throw TranslationError(path, "must be a string, not \(kindName)") }
        return string
    }

    func requireBool(at path: [String]) throws(TranslationError) -> Bool {
        guard let bool else { throw TranslationError(path, "must be a boolean, not \(kindName)") }
        return bool
    }

    func requirePriority(at path: [String]) throws(TranslationError) -> String {
        guard let text = string?.lowercased(), text == "high" || text == "normal" else {
            throw TranslationError(path, "must be normal or high")
        }
        return text
    }

    func requireSeconds(at path: [String]) throws(TranslationError) -> Int64 {
        guard let seconds = number?.wholeInt64, (0...2_419_200).contains(seconds) else {
            throw TranslationError(path, "must be an integer from 0 to 2419200")
        }
        return seconds
    }
}
