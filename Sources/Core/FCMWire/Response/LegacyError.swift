internal import FanfareJSON
internal import FanfareModel

/// The error that a legacy answer of 400 to 599 names. It takes the forms of ``ForeignAnswer``.
struct LegacyError {
    /// The code or sentence; empty if the answer has none.
    let code: String

    /// Nil for an answer that is not the legacy API's own.
    init?(_ answer: HTTPAnswer) {
        if let object = (try? JSONParser.parse(answer.body))?.object {
            guard let code = object["error"]?.string ?? V1ErrorEnvelope(object)?.rawCode else { return nil }
            self.code = code
            return
        }
        let text = AnswerBody.isText(answer) ? RawError.clean(answer.body) : ""
        if case .rejected(let code, _) = PlainTextAnswer(answer) {
            self.code = code
        } else if answer.status == 400, Self.isSentence(text) {
            code = text
        } else if ForeignAnswer.isGooglesPage(answer) {
            code = ""
        } else if answer.status >= 500, !AnswerBody.isHTML(answer) {
            code = text
        } else {
            return nil
        }
    }

    /// Whether the text is one of the API's sentences: `JSON_PARSING_ERROR: …`, `Number of messages on bulk …`, or one
    /// that quotes a field, such as `"registration_ids" field cannot be empty`.
    private static func isSentence(_ text: String) -> Bool {
        let word = text.prefix { $0 != ":" }
        return text.contains("\"") || word == "JSON_PARSING_ERROR" || text.hasPrefix("Number of messages on bulk")
            || CodeTable.row(.legacy, String(word)) != nil
    }
}
