internal import FanfareJSON
internal import FanfareModel
internal import FanfareTemplate

/// Checks a job's `message`: that it is JSON, then each member by its schema, then what the members mean together,
/// then the size.
struct MessageChecker {
    /// Larger messages are not parsed. A message within FCM's limits is far smaller, with any white space and escapes.
    static let maximumBytes = 65_536
    static let maximumDepth = 64

    let format: MessageFormat
    let traits: TransportTraits
    /// True for topics and conditions.
    let isBroadcast: Bool

    private static let path = EntryField.message.rawValue

    func check(_ bytes: [UInt8]) throws(EntryFault) {
        let value = try Self.read(bytes, at: Self.path, most: Self.maximumBytes, maximumDepth: Self.maximumDepth)
        try check(value, at: Self.path)
    }

    /// Checks a message without repeated names.
    ///
    /// - Parameters:
    ///   - path: of the message, such as `message` or `variants.es`.
    ///   - isPersonal: whether the message may have placeholders, which `PlaceholderPaths` has checked. A text with a
    ///     placeholder has any format, and counts without the placeholder.
    func check(_ value: JSONValue, at path: String, isPersonal: Bool = false) throws(EntryFault) {
        try Self.checkWrapping(value, at: path)
        var checker = SchemaChecker(traits: traits)
        checker.acceptsPlaceholders = isPersonal
        try checker.check(value, .object(schema), at: path)
        // Always an object: the schema checked it.
        guard let message = value.object else { return }
        if format == .v1 {
            try checkAndroid(message, at: path)
            try checkApplePriority(message, at: path)
        }
        try checkSize(of: isPersonal ? TemplateSize.constantPart(of: message) : message, at: path)
    }

    /// Refuses the body of a request to FCM, whose `message` is what this field takes.
    static func checkWrapping(_ value: JSONValue, at path: String) throws(EntryFault) {
        guard value.object?[Self.path]?.object != nil else { return }
        throw EntryFault("\(path).\(Self.path)", "unknown field; unwrap it: `\(path)` is the inner object")
    }

    var schema: ObjectSchema { format == .v1 ? MessageSchema.message : LegacySchema.message }

    /// The message's size as FCM counts it, of the platform on which it is largest. For a checked message.
    func size(of bytes: [UInt8]) -> Int? {
        let limits = JSONLimits(maximumDepth: Self.maximumDepth, maximumBytes: Self.maximumBytes)
        guard let message = (try? JSONParser.parse(bytes, limits: limits))?.object else { return nil }
        return try? checkSize(of: message, at: Self.path)
    }

    /// Parses a field's value.
    ///
    /// - Throws: for a value that is too long or not JSON, and for a repeated name at any depth.
    static func read(_ bytes: [UInt8], at path: String, most: Int, maximumDepth: Int) throws(EntryFault) -> JSONValue {
        try require(bytes.count <= most, path, "\(bytes.count) bytes of JSON, at most \(most)")
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONParser.parse(bytes, limits: JSONLimits(maximumDepth: maximumDepth, maximumBytes: most))
        } catch {
            throw EntryFault(path, "not JSON at byte \(error.offset): \(error.reason)", offset: error.offset)
        }
        try checkDuplicates(value, at: path)
        return value
    }

    /// No name may be repeated, at any depth: parsers differ in which of two equal names they use.
    private static func checkDuplicates(_ value: JSONValue, at path: @autoclosure () -> String) throws(EntryFault) {
        switch value {
        case .object(let object):
            if let key = object.duplicateKey {
                throw EntryFault("\(path()).\(Excerpt.plain(key))", "given more than once")
            }
            for member in object.members {
                try checkDuplicates(member.value, at: "\(path()).\(Excerpt.plain(member.key))")
            }
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                try checkDuplicates(element, at: "\(path())[\(index)]")
            }
        default: break
        }
    }

    private func checkAndroid(_ message: JSONObject, at path: String) throws(EntryFault) {
        guard message.spelling("android") != nil, let spelling = message.spelling("androidV2") else { return }
        throw EntryFault("\(path).\(spelling)", "not together with android")
    }

    /// FCM refuses priority 10 for a message that shows nothing on Apple devices.
    private func checkApplePriority(_ message: JSONObject, at path: String) throws(EntryFault) {
        guard let apns = message["apns"]?.object, let headers = apns["headers"]?.object,
            let priority = headers.header("apns-priority"), priority.value == "10"
        else { return }
        let pushType = headers.header("apns-push-type")?.value
        // Live activities, calls and similar pushes show their content without an alert.
        guard apns.spelling("liveActivityToken") == nil, [nil, "alert", "background"].contains(pushType) else { return }
        let aps = apns["payload"]?.object?["aps"]?.object
        let shows = ["alert", "badge", "sound"].contains { aps?[$0] != nil }
        let notifies = message["notification"]?.object.map { !$0.isEmpty } ?? false
        guard !shows, !notifies else { return }
        let place = "\(path).apns.headers.\(priority.key)"
        throw EntryFault(place, "10 is not allowed for a message of data only, give 5")
    }
}

extension JSONObject {
    /// The value of a member by its canonical name, however it was spelled; `null` is the same as absent.
    func field(_ name: String) -> JSONValue? {
        spelling(name).flatMap { self[$0] }
    }

    /// How a member with this canonical name was spelled, if it is there.
    func spelling(_ name: String) -> String? {
        if has(name) { return name }
        guard FieldName.hasTwoSpellings(name) else { return nil }
        let snake = FieldName.snake(name)
        return has(snake) ? snake : nil
    }

    private func has(_ name: String) -> Bool { self[name].map { $0 != .null } ?? false }

    /// A header field, its name in any case.
    fileprivate func header(_ name: String) -> (key: String, value: String)? {
        guard let member = members.first(where: { $0.key.lowercased() == name }) else { return nil }
        return member.value.string.map { (member.key, $0) }
    }
}
