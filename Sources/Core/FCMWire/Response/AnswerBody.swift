internal import FanfareJSON
internal import FanfareModel

/// The body of an answer with a success status.
enum AnswerBody {
    case json(JSONValue)
    /// FCM's JSON by its content type, but cut short or malformed: the request was accepted, its id is lost.
    case lost
    /// Not JSON by its content type: from a portal or a proxy, not from FCM.
    case foreign

    init(_ answer: HTTPAnswer) {
        guard Self.isJSON(answer) else {
            self = .foreign
            return
        }
        guard answer.isComplete, let value = try? JSONParser.parse(answer.body) else {
            self = .lost
            return
        }
        self = .json(value)
    }

    static func isJSON(_ answer: HTTPAnswer) -> Bool {
        guard let type = answer.contentType else {
            // Without a content type the first byte decides; an empty body counts only if it was cut.
            guard let first = answer.body.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else {
                return !answer.isComplete
            }
            return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        }
        return isJSON(type)
    }

    /// Whether every type of the header is JSON. Compares bytes without a copy: this runs for every answer.
    private static func isJSON(_ contentType: String) -> Bool {
        // Most often there is one: a comma stands in a header that was repeated.
        guard contentType.utf8.contains(UInt8(ascii: ",")) else { return isJSON(one: contentType.utf8[...]) }
        let types = contentType.utf8.split(separator: UInt8(ascii: ","))
        return !types.isEmpty && types.allSatisfy { isJSON(one: $0) }
    }

    private static func isJSON(one type: Substring.UTF8View) -> Bool {
        var expected = jsonType.makeIterator()
        for byte in type {
            if byte == UInt8(ascii: ";") { break }
            if byte == 0x20 || byte == 0x09 { continue }
            let lower = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 0x20 : byte
            guard lower == expected.next() else { return false }
        }
        return expected.next() == nil
    }

    private static let jsonType = Array("application/json".utf8)

    /// Whole, and JSON by its content type.
    static func isWholeJSON(_ answer: HTTPAnswer) -> Bool {
        answer.isComplete && answer.contentType.map { isJSON($0) } ?? false
    }

    /// The `name` of an answer that holds nothing else, as FCM writes it; nil for an answer that needs the parser.
    static func loneName(_ answer: HTTPAnswer) -> String? {
        guard isWholeJSON(answer) else { return nil }
        let body = answer.body
        var at = 0
        func pass(_ bytes: [UInt8]) -> Bool {
            for byte in bytes {
                guard at < body.count, body[at] == byte else { return false }
                at += 1
            }
            while at < body.count, isSpace(body[at]) { at += 1 }
            return true
        }
        guard pass(openBrace), pass(nameKey), pass(colon), at < body.count, body[at] == UInt8(ascii: "\"") else {
            return nil
        }
        let start = at + 1
        at = start
        // Plain ASCII only; anything else needs the parser.
        while at < body.count, body[at] >= 0x20, body[at] < 0x7F, body[at] != 0x22, body[at] != 0x5C { at += 1 }
        let name = body[start..<at]
        guard pass(quote), pass(closeBrace), at == body.count else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    /// The id of a message as results keep it: empty if it is longer than any of FCM's, since results wait in memory.
    static func keptID(_ text: String) -> String { text.utf8.count <= maximumIDBytes ? text : "" }

    private static let maximumIDBytes = 1_024

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    private static let (openBrace, closeBrace) = (Array("{".utf8), Array("}".utf8))
    private static let (colon, quote) = (Array(":".utf8), Array("\"".utf8))
    private static let nameKey = Array(#""name""#.utf8)

    /// Plain text by each content type.
    static func isText(_ answer: HTTPAnswer) -> Bool {
        let types = (answer.contentType ?? "").split(separator: ",")
        return !types.isEmpty && types.allSatisfy { mediaType($0) == "text/plain" }
    }

    /// HTML by its content type or its first byte.
    static func isHTML(_ answer: HTTPAnswer) -> Bool {
        let types = (answer.contentType ?? "").split(separator: ",").map { mediaType($0) }
        if types.contains(where: { $0 == "text/html" || $0 == "application/xhtml+xml" }) { return true }
        return answer.body.first { !isSpace($0) } == UInt8(ascii: "<")
    }

    /// The content type without parameters, in lower case.
    static func mediaType(_ contentType: some StringProtocol) -> String {
        let type = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }
        return String(decoding: type.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self).lowercased()
    }
}
