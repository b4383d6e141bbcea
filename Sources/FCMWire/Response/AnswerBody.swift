internal import FanfareJSON
internal import FanfareModel

/// The body of a success status, read no further than it proves itself.
enum AnswerBody {
    case json(JSONValue)
    /// FCM's JSON by its content type, but cut short or malformed: the request was accepted, its id is lost.
    case lost
    /// Not JSON by its content type: a portal or a proxy spoke, not FCM.
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

    private static func isJSON(_ answer: HTTPAnswer) -> Bool {
        guard let type = answer.contentType else {
            // Without a content type the first byte has to tell. Of an empty body only a cut one was meant to be more.
            guard let first = answer.body.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else {
                return !answer.isComplete
            }
            return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        }
        return mediaType(type) == "application/json"
    }

    /// The error that the body of another status names: the JSON's `error`, or a sentence in plain text. Pages are not a
    /// word to keep.
    static func errorText(_ answer: HTTPAnswer) -> String {
        if let error = (try? JSONParser.parse(answer.body))?.object?["error"]?.string { return error }
        guard let type = answer.contentType, mediaType(type) == "text/plain" else { return "" }
        return RawError.clean(answer.body)
    }

    /// The content type without parameters, in lower case.
    static func mediaType(_ contentType: String) -> String {
        let type = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }
        return String(decoding: type.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self).lowercased()
    }
}
