internal import FanfareJSON
internal import FanfareModel

/// Why reading an element ends: its JSON is malformed, or one of its members breaks a rule.
enum ReadingError: Error {
    case json(JSONError)
    case fault(TemplateFault)

    init(_ path: String, _ rule: String) { self = .fault(TemplateFault(path, rule)) }
}

/// Reads one ``RecipientElement`` in one pass. Texts without escapes are parts of the scanner's text; only the others are
/// copied.
struct RecipientReader {
    private(set) var scanner: JSONScanner
    private var recipient: (kind: RecipientKind, text: SharedText)?
    private var variant: SharedText?
    private var hasVariables = false
    private var variables: [TemplateVariable] = []
    private var fault: TemplateFault?

    init(scanner: JSONScanner) { self.scanner = scanner }

    mutating func element() throws(ReadingError) -> RecipientElement {
        let start = scanner.next
        try require("an object", at: "")
        try json { (scanner) throws(JSONError) in try scanner.enter() }
        var isFirst = true
        while try findMember(isFirst: &isFirst) {
            let key = try text()
            try json { (scanner) throws(JSONError) in try scanner.skipColon() }
            switch key {
            case Self.token: try readRecipient(.token)
            case Self.fid: try readRecipient(.fid)
            case Self.vars: try readVariables()
            case Self.variant: try readVariant()
            default: throw ReadingError(key.string, "unknown field")
            }
        }
        guard let recipient else { throw ReadingError("", "needs a token or a fid") }
        return RecipientElement(
            kind: recipient.kind,
            recipient: recipient.text,
            variables: fault == nil ? variables : [],
            variant: variant,
            fault: fault,
            range: start..<scanner.next,
            storage: scanner.bytes
        )
    }

    private mutating func readRecipient(_ kind: RecipientKind) throws(ReadingError) {
        if let other = recipient?.kind {
            let rule = other == kind ? "given more than once" : "not together with \(other.rawValue)"
            throw ReadingError(kind.rawValue, rule)
        }
        try require("a string", at: kind.rawValue)
        recipient = (kind, try text())
    }

    private mutating func readVariant() throws(ReadingError) {
        guard variant == nil else { throw ReadingError("variant", "given more than once") }
        try require("a string", at: "variant")
        variant = try text()
    }

    private mutating func readVariables() throws(ReadingError) {
        guard !hasVariables else { throw ReadingError("vars", "given more than once") }
        try require("an object", at: "vars")
        hasVariables = true
        // Most recipients have a few.
        variables.reserveCapacity(4)
        try json { (scanner) throws(JSONError) in try scanner.enter() }
        var (isFirst, index) = (true, 0)
        while try findMember(isFirst: &isFirst) {
            let name = PlaceholderName(try text().bytes)
            try json { (scanner) throws(JSONError) in try scanner.skipColon() }
            if fault == nil { checkName(name, at: index) }
            index += 1
            // After a fault, the rest is only checked to be JSON.
            if let name, fault == nil {
                try readValue(of: name)
            } else {
                try json { (scanner) throws(JSONError) in try scanner.skipValue() }
            }
        }
    }

    private mutating func checkName(_ name: PlaceholderName?, at index: Int) {
        guard let name else {
            fault = TemplateFault("vars", "the name at index \(index) is not \(PlaceholderName.pattern)")
            return
        }
        if index == RecipientElement.maximumNames {
            fault = TemplateFault("vars", "more than \(RecipientElement.maximumNames) names")
        } else if variables.contains(where: { $0.name == name }) {
            fault = TemplateFault("vars.\(name)", "given more than once")
        }
    }

    private mutating func readValue(of name: PlaceholderName) throws(ReadingError) {
        let start = scanner.next
        switch scanner.nextByte {
        case UInt8(ascii: "\""):
            let value = try value()
            let (count, most) = (value.count, TemplateValue.maximumLength)
            if count > most { fault = TemplateFault("vars.\(name)", "\(count) bytes, at most \(most)") }
            variables.append(TemplateVariable(name, value))
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"):
            let kind = scanner.nextKindName ?? ""
            try json { (scanner) throws(JSONError) in try scanner.skipValue() }
            fault = TemplateFault("vars.\(name)", "must be a string, a number or a boolean, not \(kind)")
        default:
            // A literal has no character that JSON escapes.
            try json { (scanner) throws(JSONError) in try scanner.skipValue() }
            let literal = SharedText(start..<scanner.next, of: scanner.bytes)
            variables.append(TemplateVariable(name, TemplateValue(plain: literal)))
        }
    }

    /// Reads a string as a value.
    private mutating func value() throws(ReadingError) -> TemplateValue {
        do throws(JSONError) {
            if let range = try scanner.plainString() {
                return TemplateValue(plain: SharedText(range, of: scanner.bytes))
            }
            return TemplateValue(try scanner.string())
        } catch { throw .json(error) }
    }

    /// Reads a string without its escapes.
    private mutating func text() throws(ReadingError) -> SharedText {
        do throws(JSONError) {
            if let range = try scanner.plainString() { return SharedText(range, of: scanner.bytes) }
            return SharedText(try scanner.string())
        } catch { throw .json(error) }
    }

    private mutating func findMember(isFirst: inout Bool) throws(ReadingError) -> Bool {
        defer { isFirst = false }
        do throws(JSONError) { return try scanner.findMember(isFirst: isFirst) } catch { throw .json(error) }
    }

    /// Refuses a value of another kind by its first byte.
    ///
    /// - Parameter expected: as `JSONScanner.nextKindName` spells it.
    private mutating func require(_ expected: String, at path: String) throws(ReadingError) {
        guard scanner.nextKindName != expected else { return }
        // Malformed text says so; anything else is a value of the wrong kind.
        try json { (scanner) throws(JSONError) in
            var ahead = scanner
            try ahead.skipValue()
        }
        throw ReadingError(path, "must be \(expected), not \(scanner.nextKindName ?? "")")
    }

    private mutating func json(_ step: (inout JSONScanner) throws(JSONError) -> Void) throws(ReadingError) {
        do throws(JSONError) { try step(&scanner) } catch { throw .json(error) }
    }

    private static let token = SharedText("token")
    private static let fid = SharedText("fid")
    private static let vars = SharedText("vars")
    private static let variant = SharedText("variant")
}
