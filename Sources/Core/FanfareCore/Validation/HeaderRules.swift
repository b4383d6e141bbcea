internal import FanfareModel

/// Checks the header fields of web push (RFC 8030) and APNs requests that a message sets. Names are compared in lower
/// case, and each may occur once. One value checks one set of headers.
struct HeaderRules {
    static let collapseIDLength = 64
    static let webTopicLength = 32

    private var seen = Set<String>()

    mutating func checkWebPush(_ name: String, _ value: String, at path: @autoclosure () -> String) throws(EntryFault) {
        switch try checkField(name, value, at: path()) {
        case "ttl":
            let (isNumber, most) = (DecimalText.isDigits(value.utf8), MessageSchema.maximumLifetime)
            try require(isNumber, path(), "\(Excerpt.quoted(value)) is not a number of seconds")
            let seconds = DecimalText.parse(value.utf8) ?? .max
            try require(seconds <= most, path(), "\(Excerpt.plain(value)) is not 0 to \(most)")
        case "urgency": try TextRules.checkChoice(value, ["very-low", "low", "normal", "high"], at: path())
        case "topic":
            let (count, most) = (value.utf8.count, Self.webTopicLength)
            try require((1...most).contains(count), path(), "\(count) characters, must be 1 to \(most)")
            if let offset = Array(value.utf8).firstIndex(where: { !Self.isBase64URL($0) }) {
                throw EntryFault(path(), "byte \(offset) is not one of A-Z a-z 0-9 - _")
            }
        default: break
        }
    }

    mutating func checkAPNs(_ name: String, _ value: String, at path: @autoclosure () -> String) throws(EntryFault) {
        switch try checkField(name, value, at: path()) {
        case "apns-priority": try TextRules.checkChoice(value, ["1", "5", "10"], at: path())
        case "apns-expiration":
            // As milliseconds it must still fit 64 bits.
            let isTime = DecimalText.parse(value.utf8).map { $0 <= GeneralFields.latestTime / 1_000 } ?? false
            try require(isTime, path(), "\(Excerpt.quoted(value)) is not a Unix time in seconds")
        case "apns-collapse-id":
            let (count, most) = (value.utf8.count, Self.collapseIDLength)
            try require(count <= most, path(), "\(count) bytes, at most \(most)")
        default: break
        }
    }

    /// The rules of every header field (RFC 9110).
    /// - Returns: the name in lower case.
    private mutating func checkField(_ name: String, _ value: String, at path: @autoclosure () -> String)
        throws(EntryFault) -> String
    {
        try require(!name.isEmpty && name.utf8.allSatisfy(Self.isNameByte), path(), "not a header name")
        try require(TextRules.controlCharacter(in: value.utf8) == nil, path(), "control character in a header value")
        let lower = name.lowercased()
        try require(seen.insert(lower).inserted, path(), "given more than once")
        return lower
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isBase64URL(byte) || Array("!#$%&'*+.^`|~".utf8).contains(byte)
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        RecipientRules.isTokenByte(byte) && byte != UInt8(ascii: ":") && byte != UInt8(ascii: ".")
    }
}
