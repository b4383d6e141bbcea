internal import FanfareJSON
internal import FanfareModel

/// The error that an answer of 400 to 599 of a management interface names. It takes the forms of ``ForeignAnswer``.
struct ManagementError {
    /// The code or words; empty if the answer has none.
    let code: String

    /// Nil for an answer that is not the interface's own.
    init?(_ answer: HTTPAnswer) {
        if let object = (try? JSONParser.parse(answer.body))?.object {
            guard let code = object["error"]?.string ?? V1ErrorEnvelope(object)?.rawCode else { return nil }
            self.code = code
            return
        }
        let words = AnswerBody.isText(answer) ? RawError.clean(answer.body) : ""
        if CodeTable.row(.deviceGroup, words)?.action == .fixMessage {
            code = words
        } else if ForeignAnswer.isGooglesPage(answer) {
            code = ""
        } else {
            return nil
        }
    }
}
