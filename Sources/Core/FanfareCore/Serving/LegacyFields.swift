internal import FanfareJSON
internal import FanfareModel

/// Writes the message of a legacy request as workers accept it, in one spelling and order.
///
/// Clients do not keep the types of the reference: python-gcm writes `True` and `108` as text, users of APNs give `badge`
/// as a number and `priority` as 10, PHP writes an empty object as `[]`. Members that the protocol does not have are left
/// out, as Google ignored them. Members with their default are left out, too.
enum LegacyFields {
    private enum Kind {
        case text, flag, seconds, priority, badge, sound, color
        /// A JSON array of strings, which the reference wants as text.
        case arguments
        case data, notification
    }

    // Sorted by name: equal messages have equal bytes. `delay_while_idle` is without effect, and
    // `delivery_receipt_requested` is for XMPP.
    private static let members: [(name: String, kind: Kind)] = [
        ("collapse_key", .text), ("content_available", .flag), ("data", .data), ("mutable_content", .flag),
        ("notification", .notification), ("priority", .priority), ("restricted_package_name", .text),
        ("time_to_live", .seconds),
    ]

    private static let shown: [(name: String, kind: Kind)] = [
        ("android_channel_id", .text), ("badge", .badge), ("body", .text), ("body_loc_args", .arguments),
        ("body_loc_key", .text), ("click_action", .text), ("color", .color), ("icon", .text), ("sound", .sound),
        ("subtitle", .text), ("tag", .text), ("title", .text), ("title_loc_args", .arguments), ("title_loc_key", .text),
    ]

    /// The message without its target and without `dry_run`.
    static func message(of request: JSONObject) throws(LegacyFault.Reason) -> JSONObject {
        try read(members, of: request, at: "")
    }

    static func isDryRun(_ request: JSONObject) throws(LegacyFault.Reason) -> Bool {
        guard let value = request["dry_run"], value != .null else { return false }
        return try flag(value, "dry_run")
    }

    /// Members without a meaning for a message over HTTP, and the ones of its target, which ``LegacyTarget`` reads.
    private static let other: Set<String> = [
        "condition", "delay_while_idle", "delivery_receipt_requested", "dry_run", "notification_key", "registration_id",
        "registration_ids", "to",
    ]

    /// The names of members that ``message(of:)`` leaves out, at most ten. A name that is no plain word is left out here,
    /// too.
    static func ignored(of request: JSONObject) -> [String] {
        let known = other.union(members.map(\.name))
        let unknown = request.members.map(\.key).filter { !known.contains($0) }
        let shownNames = Set(shown.map(\.name))
        let inner = (request["notification"]?.object?.members ?? []).map(\.key).filter { !shownNames.contains($0) }
        let names = unknown + inner.map { "notification.\($0)" }
        let words = names.lazy.filter { name in
            !name.isEmpty && name.utf8.count <= 60
                && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._-".utf8.contains($0) }
        }
        return Array(words.prefix(10))
    }

    private static func read(
        _ members: [(name: String, kind: Kind)],
        of object: JSONObject,
        at path: String
    ) throws(LegacyFault.Reason) -> JSONObject {
        var result: [JSONObject.Member] = []
        for (name, kind) in members {
            guard let given = object[name], given != .null, let value = try read(given, kind, path + name) else {
                continue
            }
            result.append(.init(key: name, value: value))
        }
        return JSONObject(result)
    }

    /// nil for a value that means the same as its absence.
    private static func read(_ value: JSONValue, _ kind: Kind, _ path: String) throws(LegacyFault.Reason) -> JSONValue?
    {
        // A text with a grammar has none when it is empty.
        if value == "", kind != .text, kind != .sound { return nil }
        switch kind {
        case .text, .color: return .string(try text(value, path))
        case .flag: return try flag(value, path) ? true : nil
        case .seconds: return .number(JSONNumber(try seconds(value, path)))
        case .priority: return try priority(value)
        case .badge:
            if let count = value.number?.wholeInt64 { return .string(String(count)) }
            return .string(try text(value, path))
        case .sound: return value.object == nil ? .string(try text(value, path)) : value
        case .arguments:
            if let list = value.array { return .string(arguments(list)) }
            return .string(try text(value, path))
        case .data: return data(try object(value, path))
        case .notification:
            let fields = try read(shown, of: try object(value, path), at: path + ".")
            return fields.isEmpty ? nil : .object(fields)
        }
    }

    private static func text(_ value: JSONValue, _ path: String) throws(LegacyFault.Reason) -> String {
        guard let text = value.string else { throw mismatch("string", value, path) }
        return text
    }

    private static func flag(_ value: JSONValue, _ path: String) throws(LegacyFault.Reason) -> Bool {
        if let flag = value.bool { return flag }
        switch (value.string?.lowercased(), value.number?.wholeInt64) {
        case ("true", _), ("1", _), (_, 1): return true
        case ("false", _), ("0", _), ("", _), (_, 0): return false
        default: throw mismatch("boolean", value, path)
        }
    }

    /// Fractions are rounded down: node-gcm passes any number on.
    private static func seconds(_ value: JSONValue, _ path: String) throws(LegacyFault.Reason) -> Int64 {
        let number = value.number ?? value.string.flatMap { (try? JSONParser.parse(Array($0.utf8)))?.number }
        guard let number else { throw mismatch("number", value, path) }
        let whole = number.wholeInt64 ?? number.double.flatMap { Int64(exactly: $0.rounded(.down)) }
        guard let whole else { throw .code(.invalidTTL) }
        return whole
    }

    private static func priority(_ value: JSONValue) throws(LegacyFault.Reason) -> JSONValue {
        let word = value.string ?? value.number?.text ?? ""
        switch word.lowercased() {
        case "high", "10": return "high"
        case "normal", "5", "1": return "normal"
        default: throw .sentence("InvalidParameters: Invalid value (\(Excerpt.plain(word))) for \"priority\"")
        }
    }

    private static func arguments(_ list: [JSONValue]) -> String {
        JSONValue.array(list.map { $0.string == nil ? .string($0.jsonText) : $0 }).jsonText
    }

    /// Texts by sorted name; of equal names the last one counts. v1 takes nothing but strings, so any other value is its
    /// JSON text. nil without members.
    private static func data(_ object: JSONObject) -> JSONValue? {
        // Sorted once: a hostile request has a hundred thousand members.
        let sorted = object.members.enumerated().sorted { one, other in
            if one.element.key.utf8.elementsEqual(other.element.key.utf8) { return one.offset < other.offset }
            return one.element.key.utf8.lexicographicallyPrecedes(other.element.key.utf8)
        }
        var result: [JSONObject.Member] = []
        for (_, member) in sorted {
            let text = JSONValue.string(member.value.string ?? member.value.jsonText)
            if let last = result.last, last.key.utf8.elementsEqual(member.key.utf8) { result.removeLast() }
            result.append(.init(key: member.key, value: text))
        }
        return result.isEmpty ? nil : .object(JSONObject(result))
    }

    private static func object(_ value: JSONValue, _ path: String) throws(LegacyFault.Reason) -> JSONObject {
        if value.array?.isEmpty == true { return JSONObject() }
        // The live server called an object an array, too.
        guard let object = value.object else { throw mismatch("array", value, path) }
        return object
    }

    private static func mismatch(_ type: String, _ value: JSONValue, _ path: String) -> LegacyFault.Reason {
        .sentence("Field \"\(path)\" must be a JSON \(type): \(Excerpt.plain(value.jsonText))")
    }
}
