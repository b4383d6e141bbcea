import FanfareJSON

/// Seeded texts, messages and recipients (SplitMix64).
struct TemplateGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }

    /// Names that are prefixes of each other, up to the longest.
    static let names = [
        "n", "na", "nam", "name", "names", "Name", "_", "a1", String(repeating: "a", count: 31),
        String(repeating: "a", count: 32),
    ]

    // U+FEFF has a neighbour: Foundation's JSON reader drops it from the start of a string.
    private static let pieces = [
        "a", "}", "}}", "{", "|", ":", "\"", "\\", "\n", "\r", "\t", "\u{0}", "\u{8}", "\u{1f}", "\u{7f}", "é", "中",
        "😀", "\u{10FFFF}", "\u{FFFE}", "x\u{FEFF}", "\u{2028}", "/", " ", "%7B", "<", "&amp;", "\\u0041", "e\u{301}",
    ]

    /// Any text, its braces included.
    mutating func text(upTo count: Int = 6) -> String { (0..<below(count)).map { _ in pick(Self.pieces) }.joined() }

    /// Braces in any order, mostly malformed.
    mutating func braces() -> String {
        let pieces = ["{", "{{", "}", "}}", "{{{{", "|", ":", "n", "name", "9", " ", "é", "\n"]
        return (0..<below(10)).map { _ in pick(pieces) }.joined()
    }

    /// A text with placeholders, mostly well-formed.
    mutating func template() -> String {
        var text = ""
        for _ in 0..<below(6) {
            switch below(8) {
            case 0: text += "{{{{"
            case 1: text += self.text()
            case 2: text += "{{" + pick(Self.names) + "|" + self.text(upTo: 4) + "}}"
            case 3: text += "{{" + pick(Self.names) + "|{{{{" + pick(["", "x", "é"]) + "}}"
            default: text += "{{" + pick(Self.names) + pick(["}}", "}}", "}}", "|}}", "|é}}"])
            }
        }
        if below(60) == 0 { text = String(repeating: "x", count: 4_094 + below(5)) + text }
        return text
    }

    /// A well-formed message; most of its strings have placeholders.
    mutating func message(isWellFormed: (String) -> Bool) -> JSONObject {
        func string() -> JSONValue {
            while true {
                let text = template()
                if isWellFormed(text) { return .string(text) }
            }
        }
        var data = JSONObject()
        for index in 0..<below(4) { data["k\(index)\(pick(["", "\"", "é", "{", "}"]))"] = string() }
        var notification = JSONObject()
        if below(2) == 0 { notification["title"] = string() }
        if below(4) == 0 { notification["title_loc_args"] = .array((0..<below(3)).map { _ in string() }) }
        if below(4) == 0 { notification["deep"] = .object(["x": .array([.object(["y": string()]), 7, .null])]) }
        return ["data": .object(data), "notification": .object(notification), "ttl": "5s"]
    }

    /// A value's text, and its JSON. Numbers and booleans are the same in both.
    mutating func value() -> (text: String, json: String) {
        switch below(8) {
        case 0:
            let literal = pick(["0", "-1.5e+3", "12345678901234567890", "true", "false"])
            return (literal, literal)
        case 1:
            let text = pick(["{{n}}", "{{{{", "}}", "{{", "|", "{{name|x}}"])
            return (text, json(text))
        case 2 where below(10) == 0:
            let text = String(repeating: pick(["x", "\n", "\u{1}", "\""]), count: 1_023 + below(2))
            return (text, json(text))
        default:
            let text = self.text(upTo: 8)
            return (text, json(text))
        }
    }

    /// A JSON string of this text, each character in one of its spellings.
    mutating func json(_ text: String) -> String {
        var json = "\""
        for scalar in text.unicodeScalars {
            let isEscaped = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
            guard isEscaped || below(3) == 0 else {
                json.unicodeScalars.append(scalar)
                continue
            }
            let short: [Unicode.Scalar: String] = [
                "\"": "\\\"", "\\": "\\\\", "/": "\\/", "\u{8}": "\\b", "\u{c}": "\\f", "\n": "\\n", "\r": "\\r",
                "\t": "\\t",
            ]
            if let short = short[scalar], below(2) == 0 {
                json += short
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16, uppercase: below(2) == 0)
                json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return json + "\""
    }

    mutating func space() -> String { pick(["", "", " ", "\n", "\t ", "\r\n"]) }

    /// Values of some names, and the recipient that has them.
    mutating func recipient() -> (values: [String: String], json: String) {
        var (values, members) = ([String: String](), [String]())
        for name in Self.names where below(3) > 0 {
            let (text, json) = value()
            values[name] = text
            members.append("\(space())\(self.json(name))\(space()):\(space())\(json)\(space())")
        }
        let vars = "{" + members.joined(separator: ",") + "}"
        return (values, "\(space()){\(space())\"token\":\"t\"\(space()),\"vars\":\(vars)}\(space())")
    }
}
