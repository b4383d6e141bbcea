public import FanfareJSON

/// Checks where the placeholders of a personal message stand, and how they are written.
///
/// A string may have placeholders in `notification`, `data`, `android.notification`, `android.data`, `apns.payload`,
/// `webpush.notification` and `webpush.data`, at any depth below them, and in the links: `link` and `image` of any
/// `fcm_options`, and `image` of any `notification`. Fields count in either spelling, camelCase or snake_case. The same
/// places hold for v1 messages, legacy messages and variants; whether a field exists is for the schema to say.
///
/// In these places `{{{{` is a literal `{{`. Everywhere else, and in every name of a member, any `{{` is refused, `{{{{`
/// included: there is no text there that could need it.
public enum PlaceholderPaths {
    /// Different names in one message, at most: a recipient may have no more.
    public static let maximumNames = 32

    /// - Parameters:
    ///   - message: a message, or a variant before or after it was merged.
    ///   - path: of the message, such as `message` or `variants.es`.
    ///   - name: a member's name as paths spell it, for names that are not fit for a log.
    /// - Returns: the different names in the order of the message.
    /// - Throws: for the first string in the order of the message that breaks a rule, and for too many names.
    @discardableResult
    public static func check(
        _ message: JSONObject,
        at path: String,
        name: (String) -> String = { $0 }
    ) throws(TemplateFault) -> [PlaceholderName] {
        var search = PlaceholderSearch()
        try search.check(message, at: path, name)
        guard search.names.count <= maximumNames else {
            throw TemplateFault(path, "\(search.names.count) names of placeholders, at most \(maximumNames)")
        }
        return search.names
    }

    /// Whether a string at this place may have placeholders.
    ///
    /// - Parameter keys: names from the message down, in either spelling, without the positions in arrays.
    static func allow(_ keys: [String]) -> Bool {
        if trees.contains(where: { keys.starts(with: $0, by: isSpelling) }) { return true }
        guard keys.count >= 2 else { return false }
        let (parent, key) = (keys[keys.count - 2], keys[keys.count - 1])
        if isSpelling(parent, of: "fcmOptions") { return key == "link" || key == "image" }
        return parent == "notification" && key == "image"
    }

    private static let trees = [
        ["notification"], ["data"],
        ["android", "notification"], ["android", "data"],
        ["apns", "payload"],
        ["webpush", "notification"], ["webpush", "data"],
    ]

    private static func isSpelling(_ key: String, of name: String) -> Bool {
        key == name || key == FieldName.snake(name)
    }
}

/// One check: walks through the message and collects the names.
private struct PlaceholderSearch {
    /// In the order of their first placeholder.
    private(set) var names: [PlaceholderName] = []
    private var known: Set<PlaceholderName> = []
    /// Names of the members around the current value.
    private var keys: [String] = []

    mutating func check(
        _ object: JSONObject,
        at path: @autoclosure () -> String,
        _ name: (String) -> String
    ) throws(TemplateFault) {
        for member in object.members {
            var memberPath: String { "\(path()).\(name(member.key))" }
            if PlaceholderText.hasBraces(member.key) {
                throw TemplateFault(memberPath, "a placeholder is not allowed in a name")
            }
            keys.append(member.key)
            try check(member.value, at: memberPath, name)
            keys.removeLast()
        }
    }

    private mutating func check(
        _ value: JSONValue,
        at path: @autoclosure () -> String,
        _ name: (String) -> String
    ) throws(TemplateFault) {
        switch value {
        case .string(let text):
            if PlaceholderText.hasBraces(text) { try check(text, at: path()) }
        case .object(let object): try check(object, at: path(), name)
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                try check(element, at: "\(path())[\(index)]", name)
            }
        case .null, .bool, .number: break
        }
    }

    private mutating func check(_ text: String, at path: @autoclosure () -> String) throws(TemplateFault) {
        guard PlaceholderPaths.allow(keys) else {
            throw TemplateFault(path(), "a placeholder is not allowed here")
        }
        do throws(PlaceholderError) {
            for name in try PlaceholderText(text).names where known.insert(name).inserted { names.append(name) }
        } catch {
            throw TemplateFault(path(), error.rule)
        }
    }
}
