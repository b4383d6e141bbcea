@testable import FanfareCore

/// Parts of JSON Schema (draft 2020-12), as Foundation's JSON writer takes them.
typealias Schema = [String: Any]

/// Strings of Fanfare's kinds. Patterns mean the same to ECMAScript and to Python but for a line feed at the end, so
/// alphabets are said by what must not be found.
enum SchemaText {
    static let tokenAlphabet = "A-Za-z0-9_:.-"
    static let labelAlphabet = "A-Za-z0-9_.~%-"
    private static let control = #"\u0000-\u001f\u007f-\u009f"#
    static var noControl: Schema { ["pattern": "[\(control)]"] }

    static func alphabet(_ bytes: String, _ length: ClosedRange<Int>) -> Schema {
        [
            "type": "string", "minLength": length.lowerBound, "maxLength": length.upperBound,
            "not": ["pattern": "[^\(bytes)]"],
        ]
    }

    static func json(_ content: Schema) -> Schema {
        ["type": "string", "contentMediaType": "application/json", "contentSchema": content]
    }

    /// Decimal digits with a value of at most `most`, as a pattern without anchors.
    static func digits(upTo most: Int64) -> String {
        let text = Array(String(most))
        var choices = text.count > 1 ? ["[0-9]{1,\(text.count - 1)}"] : []
        for (index, digit) in text.enumerated() {
            guard let value = digit.wholeNumberValue, value > 0 else { continue }
            let rest = text.count - index - 1
            let below = value == 1 ? "0" : "[0-\(value - 1)]"
            choices.append(String(text[..<index]) + below + (rest > 0 ? "[0-9]{\(rest)}" : ""))
        }
        return "0*(?:" + (choices + [String(text)]).joined(separator: "|") + ")"
    }

    static func number(upTo most: Int64) -> Schema { ["type": "string", "pattern": "^\(digits(upTo: most))$"] }

    static func positiveNumber(upTo most: Int64) -> Schema {
        number(upTo: most).merging(["not": ["pattern": "^0*$"]]) { $1 }
    }

    /// A share of 0.1% to 99.9%, as a pattern without anchors.
    static let share = #"(?:0\.[1-9]|[1-9][0-9]?(?:\.[0-9])?)%"#

    static func url(_ scheme: String) -> String {
        let anyCase = scheme.map { "[\($0.uppercased())\($0)]" }.joined()
        return anyCase + "\(scheme == "http" ? "[Ss]?" : "")://[^/?#:@ \(control)][^ \(control)]*"
    }

    static func schema(_ rule: TextRule) -> Schema {
        switch rule {
        case .any: return ["type": "string"]
        case .color: return ["type": "string", "pattern": "^#[0-9A-Fa-f]{6}$"]
        case .analyticsLabel: return alphabet(labelAlphabet, 1...TextRules.labelLength)
        case .httpsLink: return ["type": "string", "pattern": "^\(url("https"))$"]
        case .image: return ["type": "string", "pattern": "^(?:\(url("http")))?$"]
        case .digits: return number(upTo: .max)
        case .duration(let most):
            let parts = "(?:\(digits(upTo: most - 1))(?:\\.[0-9]{1,9})?|0*\(most)(?:\\.0{1,9})?)"
            return ["type": "string", "pattern": "^\(parts)s$"]
        case .timestamp:
            let time = "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]+)?"
            return ["type": "string", "pattern": "^\(time)(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$"]
        case .arrayText: return json(["type": "array", "items": ["type": "string"]])
        }
    }
}
