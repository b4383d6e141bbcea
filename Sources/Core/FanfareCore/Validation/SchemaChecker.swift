internal import FanfareJSON
internal import FanfareModel
internal import FanfareTemplate

/// Checks a JSON value by a ``FieldRule``. The first fault in the order of the message is reported.
struct SchemaChecker {
    let traits: TransportTraits
    /// True for a message in which `PlaceholderPaths` has checked the placeholders.
    var acceptsPlaceholders = false

    func check(_ value: JSONValue, _ rule: FieldRule, at path: @autoclosure () -> String) throws(EntryFault) {
        switch rule {
        case .text(let rule):
            let text = try text(value, at: path())
            // Without its values the text has no format yet. An array is one with its placeholders, too.
            if hasPlaceholder(text), rule != .arrayText { return }
            try TextRules.check(text, rule, at: path())
        case .boolean:
            guard value.bool != nil else { throw mismatch("true or false", value, path()) }
        case .integer(let range): try checkInteger(value, range, at: path())
        case .fraction:
            guard let number = value.number else { throw mismatch("a number", value, path()) }
            guard let double = number.double, (0...1).contains(double) else {
                throw EntryFault(path(), "\(Excerpt.plain(number.text)) is not 0 to 1")
            }
        case .choice(let names, let anyCase):
            let text = try text(value, at: path())
            if hasPlaceholder(text) { return }
            try TextRules.checkChoice(text, names, anyCase: anyCase, at: path())
        case .array(let rule):
            guard let elements = value.array else { throw mismatch("an array", value, path()) }
            for (index, element) in elements.enumerated() {
                try check(element, rule, at: "\(path())[\(index)]")
            }
        case .texts(let rule): try checkTexts(try object(value, at: path()), rule, at: path())
        case .object(let schema): try checkObject(try object(value, at: path()), schema, at: path())
        case .anyObject: _ = try object(value, at: path())
        case .textOrAnyObject:
            guard value.string != nil || value.object != nil else { throw mismatch("a string", value, path()) }
        case .anyData:
            for member in try object(value, at: path()).members {
                try DataKeyRules.check(member.key, at: path())
                let memberPath = "\(path()).\(Excerpt.plain(member.key))"
                try require(member.value != .null, memberPath, "must not be null, which has no text form")
            }
        case .part(let part, let rule):
            if let reason = traits.fault(of: part) { throw EntryFault(path(), reason) }
            try check(value, rule, at: path())
        case .refused(let rule): throw EntryFault(path(), rule)
        }
    }

    private func checkObject(_ object: JSONObject, _ schema: ObjectSchema, at path: @autoclosure () -> String)
        throws(EntryFault)
    {
        // Searched linearly: it has at most one member for each of the schema, because no name is repeated.
        var given: [(name: String, spelling: String)] = []
        given.reserveCapacity(object.count)
        for member in object.members {
            var memberPath: String { "\(path()).\(Excerpt.plain(member.key))" }
            guard let field = schema.member(member.key) else { throw EntryFault(memberPath, "unknown field") }
            if let other = given.first(where: { $0.name == field.name }) {
                throw EntryFault(memberPath, "also given as \(other.spelling)")
            }
            given.append((field.name, member.key))
            if case .refused(let rule) = field.rule { throw EntryFault(memberPath, rule) }
            if member.value == .null, schema.isProtobuf { continue }
            try check(member.value, field.rule, at: memberPath)
        }
        for name in schema.required where object.field(name) == nil {
            throw EntryFault("\(path()).\(name)", "required")
        }
    }

    private func checkTexts(_ object: JSONObject, _ rule: TextsRule, at path: @autoclosure () -> String)
        throws(EntryFault)
    {
        var headers = HeaderRules()
        for member in object.members {
            var memberPath: String { "\(path()).\(Excerpt.plain(member.key))" }
            if case .data = rule { try DataKeyRules.check(member.key, at: path()) }
            let value = try text(member.value, at: memberPath)
            switch rule {
            case .data: break
            case .webPushHeaders: try headers.checkWebPush(member.key, value, at: memberPath)
            case .apnsHeaders: try headers.checkAPNs(member.key, value, at: memberPath)
            }
        }
    }

    private func checkInteger(_ value: JSONValue, _ range: ClosedRange<Int64>, at path: @autoclosure () -> String)
        throws(EntryFault)
    {
        guard let number = value.number else { throw mismatch("a whole number", value, path()) }
        guard let integer = number.int64 else {
            throw EntryFault(path(), "\(Excerpt.plain(number.text)) is not a whole number of 64 bits")
        }
        try require(range.contains(integer), path(), "\(integer) is not \(range.lowerBound) to \(range.upperBound)")
    }

    private func hasPlaceholder(_ text: String) -> Bool {
        guard acceptsPlaceholders, PlaceholderText.hasBraces(text) else { return false }
        return (try? PlaceholderText(text))?.names.isEmpty == false
    }

    private func text(_ value: JSONValue, at path: @autoclosure () -> String) throws(EntryFault) -> String {
        guard let text = value.string else { throw mismatch("a string", value, path()) }
        return text
    }

    private func object(_ value: JSONValue, at path: @autoclosure () -> String) throws(EntryFault) -> JSONObject {
        guard let object = value.object else { throw mismatch("an object", value, path()) }
        return object
    }

    private func mismatch(_ expected: String, _ value: JSONValue, _ path: String) -> EntryFault {
        EntryFault(path, "must be \(expected), not \(value.kindName)")
    }
}

/// The keys of `data` that FCM reserves: the union of its documents' lists.
enum DataKeyRules {
    private static let names = ["from", "message_type"]
    private static let prefixes = ["google", "gcm"]

    static func check(_ key: String, at path: @autoclosure () -> String) throws(EntryFault) {
        let isReserved =
            names.contains { key.utf8.elementsEqual($0.utf8) } || prefixes.contains { key.utf8.starts(with: $0.utf8) }
        try require(!isReserved, "\(path()).\(Excerpt.plain(key))", "reserved key")
    }
}
