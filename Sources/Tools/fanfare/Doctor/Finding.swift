internal import FanfareJSON

/// The result of a check: one line, and how to fix it.
struct Finding: Equatable, Sendable {
    enum Severity: String, Sendable {
        case ok
        /// Works now, but can fail later or is probably a mistake.
        case warn
        /// A guarantee does not hold, or nothing can be sent.
        case fail
    }

    var check: String
    var severity: Severity
    var text: String
    var remedy: String?

    static func ok(_ check: String, _ text: String) -> Finding { Finding(check: check, severity: .ok, text: text) }

    static func warn(_ check: String, _ text: String, _ remedy: String) -> Finding {
        Finding(check: check, severity: .warn, text: text, remedy: remedy)
    }

    static func fail(_ check: String, _ text: String, _ remedy: String) -> Finding {
        Finding(check: check, severity: .fail, text: text, remedy: remedy)
    }

    var line: String {
        let word =
            severity == .fail ? "FAIL" : severity.rawValue + String(repeating: " ", count: 4 - severity.rawValue.count)
        // Reasons repeat texts of producers and servers, which must not look like another finding.
        let text = PrintableText.line(text, limit: 400)
        return "\(word)  \(check): \(text)" + (remedy.map { "\n      remedy: \($0)" } ?? "")
    }

    var json: JSONObject {
        var object: JSONObject = [
            "check": .string(check), "verdict": .string(severity.rawValue), "text": .string(text),
        ]
        object["remedy"] = remedy.map { .string($0) }
        return object
    }
}
