/// Checks the header fields of web push (RFC 8030) and APNs requests that a message sets. Names are compared in lower
/// case, and each may occur once. One value checks one set of headers.
struct HeaderRules {
    static let collapseIDLength = 64
    static let webTopicLength = 32

    private var seen = Set<String>()

    mutating func checkWebPush(_ name: String, _ value: String, at path: @autoclosure () -> String) throws(EntryFault) {
        switch try checkField(name, value, at: path()) {
        case "ttl":
            guard DecimalText.isDigits(Array(value.utf8)) else {
                throw EntryFault(path(), "\(Excerpt.quoted(value)) is not a number of seconds")
            }
            guard let seconds = DecimalText.parse(Array(value.utf8)), seconds <= MessageSchema.maximumLifetime else {
                throw EntryFault(path(), "\(Excerpt.plain(value)) is not 0 to \(MessageSchema.maximumLifetime)")
            }
        case "urgency": try checkOneOf(["very-low", "low", "normal", "high"], value, at: path())
        case "topic":
            guard (1...Self.webTopicLength).contains(value.utf8.count) else {
                throw EntryFault(path(), "\(value.utf8.count) characters, must be 1 to \(Self.webTopicLength)")
            }
            if let offset = Array(value.utf8).firstIndex(where: { !Self.isBase64URL($0) }) {
                throw EntryFault(path(), "byte \(offset) is not one of A-Z a-z 0-9 - _")
            }
        default: break
        }
    }

    mutating func checkAPNs(_ name: String, _ value: String, at path: @autoclosure () -> String) throws(EntryFault) {
        switch try checkField(name, value, at: path()) {
        case "apns-priority": try checkOneOf(["1", "5", "10"], value, at: path())
        case "apns-expiration":
            // As milliseconds it must still fit 64 bits.
            guard let seconds = DecimalText.parse(Array(value.utf8)), seconds <= GeneralFields.latestTime / 1_000
            else {
                throw EntryFault(path(), "\(Excerpt.quoted(value)) is not a Unix time in seconds")
            }
        case "apns-collapse-id":
            guard value.utf8.count <= Self.collapseIDLength else {
                throw EntryFault(path(), "\(value.utf8.count) bytes, at most \(Self.collapseIDLength)")
            }
        default: break
        }
    }

    /// The rules of every header field (RFC 9110).
    /// - Returns: the name in lower case.
    private mutating func checkField(_ name: String, _ value: String, at path: @autoclosure () -> String)
        throws(EntryFault) -> String
    {
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isNameByte) else {
            throw EntryFault(path(), "not a header name")
        }
        guard TextRules.controlCharacter(in: value.utf8) == nil else {
            throw EntryFault(path(), "control character in a header value")
        }
        let lower = name.lowercased()
        guard seen.insert(lower).inserted else { throw EntryFault(path(), "given more than once") }
        return lower
    }

    private func checkOneOf(_ names: [String], _ value: String, at path: @autoclosure () -> String) throws(EntryFault) {
        guard names.contains(where: { $0.utf8.elementsEqual(value.utf8) }) else {
            throw EntryFault(path(), "\(Excerpt.quoted(value)) is not one of \(names.joined(separator: ", "))")
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isBase64URL(byte) || Array("!#$%&'*+.^`|~".utf8).contains(byte)
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        RecipientRules.isTokenByte(byte) && byte != UInt8(ascii: ":") && byte != UInt8(ascii: ".")
    }
}
