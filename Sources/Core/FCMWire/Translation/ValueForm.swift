internal import FanfareJSON

/// How one value is written in a v1 message. A legacy value that has nothing to say there yields nil.
enum ValueForm: Equatable, Sendable {
    /// The same string.
    case text
    /// A platform's own text: never written, and read only to see that it does not differ.
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

    /// Throws a rule, to be put behind the field's path.
    func fromLegacy(_ value: JSONValue) throws(FormError) -> JSONValue? {
        switch self {
        case .text: return .string(try value.requireString())
        case .override, .defaultSound: return nil
        case .data: return value
        case .flag: return try value.requireBool() ? 1 : nil
        case .androidPriority: return try value.requirePriority() == "high" ? "HIGH" : "NORMAL"
        case .urgency: return .string(try value.requirePriority())
        case .apnsPriority: return try value.requirePriority() == "high" ? "10" : "5"
        case .duration: return .string("\(try value.requireSeconds())s")
        case .seconds: return .string("\(try value.requireSeconds())")
        case .expiration:
            _ = try value.requireSeconds()
            return ""
        case .collapseKey, .collapseID, .webTopic: return collapse(try value.requireString())
        case .badge: return try Self.badge(value)
        case .drawable: return Self.isWebURL(try value.requireString()) ? nil : value
        case .imageURL, .link: return Self.isSecureURL(try value.requireString()) ? value : nil
        case .androidSound: return value.object == nil ? .string(try value.requireString()) : nil
        case .appleSound: return value.object == nil ? .string(try value.requireString()) : value
        case .arguments: return .array(try Self.arguments(value))
        }
    }

    /// nil for a value that says no more than its absence.
    func fromV1(_ value: JSONValue) throws(FormError) -> JSONValue? {
        switch self {
        case .text, .override, .collapseKey, .collapseID, .webTopic, .drawable, .link, .androidSound:
            return .string(try value.requireString())
        case .imageURL:
            let text = try value.requireString()
            // Legacy: "all URL values need HTTPS". A relative address is as safe as the page that has it.
            guard !Self.isWebURL(text) || Self.isSecureURL(text) else { throw FormError("must be an https address") }
            return .string(text)
        case .data, .appleSound: return value
        case .defaultSound:
            guard let flag = value.bool else { throw FormError("must be a boolean, not \(value.kindName)") }
            return flag ? "default" : nil
        case .flag:
            if value == .bool(true) || value.number?.wholeInt64 == 1 { return true }
            if value == .bool(false) || value.number?.wholeInt64 == 0 { return nil }
            throw FormError("must be 0 or 1")
        case .androidPriority, .urgency, .apnsPriority: return try legacyPriority(try value.requireString())
        case .duration:
            guard let seconds = DurationText.wholeSeconds(try value.requireString()) else {
                throw FormError("must be seconds such as 3.5s")
            }
            return .number(JSONNumber(seconds))
        case .seconds:
            guard let seconds = Int64(try value.requireString()), seconds >= 0 else {
                throw FormError("must be a number of seconds")
            }
            return .number(JSONNumber(seconds))
        case .expiration:
            guard try value.requireString() == "0" else {
                throw FormError("names a moment, which has no counterpart in legacy")
            }
            return 0
        case .badge:
            guard let count = value.number?.wholeInt64, count >= 0 else {
                throw FormError("must be a whole number, 0 or more")
            }
            return .string(String(count))
        case .arguments:
            guard let array = value.array, array.allSatisfy({ $0.string != nil }) else {
                throw FormError("must be an array of strings")
            }
            return .string(value.jsonText)
        }
    }

    private func legacyPriority(_ text: String) throws(FormError) -> JSONValue {
        switch (self, text.lowercased()) {
        case (.apnsPriority, "10"), (.androidPriority, "high"), (.urgency, "high"): return "high"
        case (.apnsPriority, "5"), (.apnsPriority, "1"), (.androidPriority, "normal"), (.urgency, "normal"),
            (.urgency, "low"), (.urgency, "very-low"):
            return "normal"
        default: throw FormError("has no counterpart in legacy")
        }
    }

    /// A key that does not fit where it must go is replaced by its hash: equal keys stay equal.
    private func collapse(_ key: String) -> JSONValue? {
        if key.isEmpty { return nil }
        let fits: Bool
        switch self {
        case .collapseID: fits = key.utf8.count <= 64 && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        case .webTopic: fits = key.utf8.count <= 32 && key.utf8.allSatisfy(Self.isBase64URL)
        default: fits = true
        }
        return .string(fits ? key : NameDigest.name32(key))
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            return true
        default: return false
        }
    }

    private static func isWebURL(_ text: String) -> Bool {
        text.lowercased().hasPrefix("http://") || isSecureURL(text)
    }

    private static func isSecureURL(_ text: String) -> Bool {
        text.lowercased().hasPrefix("https://")
    }

    private static func badge(_ value: JSONValue) throws(FormError) -> JSONValue {
        let count = value.string.flatMap { Int64($0) } ?? value.number?.wholeInt64
        guard let count, count >= 0 else { throw FormError("must be a whole number, written as a string") }
        return .number(JSONNumber(count))
    }

    private static func arguments(_ value: JSONValue) throws(FormError) -> [JSONValue] {
        var list = value.array
        if let text = value.string {
            list = (try? JSONParser.parse(Array(text.utf8), limits: JSONLimits(maxDepth: 1, maxBytes: 65_536)))?.array
        }
        guard let list, list.allSatisfy({ $0.string != nil }) else {
            throw FormError("must be a JSON array of strings, written as a string")
        }
        return list
    }
}

/// A rule that a value breaks; the caller, which knows the path, puts it in front.
struct FormError: Error {
    let rule: String

    init(_ rule: String) {
        self.rule = rule
    }
}

extension JSONValue {
    fileprivate func requireString() throws(FormError) -> String {
        guard let string else { throw FormError("must be a string, not \(kindName)") }
        return string
    }

    fileprivate func requireBool() throws(FormError) -> Bool {
        guard let bool else { throw FormError("must be a boolean, not \(kindName)") }
        return bool
    }

    fileprivate func requirePriority() throws(FormError) -> String {
        guard let text = string?.lowercased(), text == "high" || text == "normal" else {
            throw FormError("must be normal or high")
        }
        return text
    }

    fileprivate func requireSeconds() throws(FormError) -> Int64 {
        guard let seconds = number?.wholeInt64, (0...2_419_200).contains(seconds) else {
            throw FormError("must be an integer from 0 to 2419200")
        }
        return seconds
    }
}
