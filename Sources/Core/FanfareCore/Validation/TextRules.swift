internal import FanfareJSON
internal import FanfareModel

/// Checks strings that have a grammar.
enum TextRules {
    static let labelLength = 50

    static func check(_ text: String, _ rule: TextRule, at path: @autoclosure () -> String) throws(EntryFault) {
        if case .any = rule { return }
        let bytes = Array(text.utf8)
        switch rule {
        case .any: break
        case .color:
            let isColor = bytes.count == 7 && bytes[0] == UInt8(ascii: "#")
            guard isColor, bytes.dropFirst().allSatisfy({ $0.hexDigitValue != nil }) else {
                throw EntryFault(path(), "\(Excerpt.quoted(text)) is not a color such as #00ff7f")
            }
        case .analyticsLabel: try checkLabel(bytes, at: path())
        case .httpsLink:
            try require(isLink(bytes, "https://"), path(), "\(Excerpt.quoted(text)) is not an https:// URL")
        case .image:
            let isURL = bytes.isEmpty || isLink(bytes, "https://") || isLink(bytes, "http://")
            try require(isURL, path(), "\(Excerpt.quoted(text)) is not an http:// or https:// URL")
        case .digits:
            try require(DecimalText.isDigits(bytes), path(), "\(Excerpt.quoted(text)) is not a number in digits")
            try require(DecimalText.parse(bytes) != nil, path(), "\(Excerpt.plain(text)), at most \(Int64.max)")
        case .duration(let maximumSeconds): try checkDuration(bytes, maximumSeconds: maximumSeconds, at: path())
        case .timestamp:
            guard Timestamp.milliseconds(rfc3339: bytes) != nil else {
                throw EntryFault(path(), "\(Excerpt.quoted(text)) is not a time such as 2026-01-31T08:30:00Z")
            }
        case .arrayText: try checkArrayText(bytes, at: path())
        }
    }

    /// `3.5s`: digits, at most nine decimals, `s`.
    private static func checkDuration(_ bytes: [UInt8], maximumSeconds: Int64, at path: @autoclosure () -> String)
        throws(EntryFault)
    {
        var malformed: EntryFault { EntryFault(path(), "\(Excerpt.quoted(bytes)) is not a duration such as 3.5s") }
        guard bytes.last == UInt8(ascii: "s") else { throw malformed }
        let parts = bytes.dropLast().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 2, !parts[0].isEmpty, parts[0].allSatisfy(\.isASCIIDigit) else { throw malformed }
        var fraction: Int64 = 0
        if parts.count == 2 {
            guard parts[1].count <= 9, let digits = DecimalText.parse(parts[1]) else { throw malformed }
            fraction = digits
        }
        // A number beyond 64 bits is too long, too.
        let seconds = DecimalText.parse(parts[0])
        guard let seconds, seconds < maximumSeconds || seconds == maximumSeconds && fraction == 0 else {
            throw EntryFault(
                path(),
                "\(Excerpt.plain(String(decoding: bytes, as: UTF8.self))), at most \(maximumSeconds)s"
            )
        }
    }

    static func checkChoice(
        _ text: String,
        _ names: [String],
        anyCase: Bool = false,
        at path: @autoclosure () -> String
    ) throws(EntryFault) {
        let isKnown = names.contains { name in
            text.utf8.elementsEqual(name.utf8) || anyCase && text.utf8.elementsEqual(name.lowercased().utf8)
        }
        try require(isKnown, path(), "\(Excerpt.quoted(text)) is not one of \(names.joined(separator: ", "))")
    }

    private static func checkLabel(_ bytes: [UInt8], at path: @autoclosure () -> String) throws(EntryFault) {
        try require(!bytes.isEmpty, path(), "empty")
        try require(bytes.count <= labelLength, path(), "\(bytes.count) bytes, at most \(labelLength)")
        if let offset = bytes.firstIndex(where: { !RecipientRules.isTopicByte($0) }) {
            throw EntryFault(path(), "byte \(offset) is not one of A-Z a-z 0-9 - _ . ~ %")
        }
    }

    private static func isLink(_ bytes: [UInt8], _ scheme: String) -> Bool {
        let scheme = Array(scheme.utf8)
        guard bytes.count > scheme.count, !bytes.contains(UInt8(ascii: " ")),
            controlCharacter(in: bytes) == nil,
            zip(bytes, scheme).allSatisfy({ $0 == $1 || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 && $0 | 0x20 == $1 }
            )
        else { return false }
        return !Array("/?#:@".utf8).contains(bytes[scheme.count])
    }

    private static func checkArrayText(_ bytes: [UInt8], at path: @autoclosure () -> String) throws(EntryFault) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONParser.parse(
                bytes,
                limits: JSONLimits(maximumDepth: 2, maximumBytes: MessageChecker.maximumBytes)
            )
        } catch {
            throw EntryFault(path(), "not a JSON array in a string, at byte \(error.offset): \(error.reason)")
        }
        guard let elements = value.array else {
            throw EntryFault(path(), "must be a JSON array in a string, not \(value.kindName)")
        }
        for (index, element) in elements.enumerated() where element.string == nil {
            throw EntryFault("\(path())[\(index)]", "must be a string, not \(element.kindName)")
        }
    }

    /// Where the first control character stands in UTF-8: C0, DEL, or C1, which has two bytes and which terminals obey, too.
    static func controlCharacter(in bytes: some Collection<UInt8>) -> Int? {
        var last: UInt8 = 0
        for (offset, byte) in bytes.enumerated() {
            if byte < 0x20 || byte == 0x7F { return offset }
            if last == 0xC2, 0x80...0x9F ~= byte { return offset - 1 }
            last = byte
        }
        return nil
    }

    /// A name in UTF-8 without control characters, which break lines and logs.
    static func name(_ bytes: [UInt8], most: Int, at path: String) throws(EntryFault) -> String {
        try require(!bytes.isEmpty, path, "empty")
        try require(bytes.count <= most, path, "\(bytes.count) bytes, at most \(most)")
        guard let name = String(validating: bytes, as: UTF8.self) else { throw EntryFault(path, "not UTF-8") }
        if let offset = controlCharacter(in: bytes) {
            throw EntryFault(path, "control character at byte \(offset)")
        }
        return name
    }
}
