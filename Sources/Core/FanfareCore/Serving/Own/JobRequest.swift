internal import FanfareJSON
internal import FanfareModel

/// A request to push a job: one JSON object whose members are the fields of an entry of `jobs` (contract 2), and headers
/// that set fields. `EntryCheck` has the rules of the fields' values.
///
/// Lists and objects are not read here but handed over as they are: a body may hold a hundred thousand tokens.
public struct JobRequest: Sendable {
    /// The longest body, unpacked (contract 8).
    public static let maximumBytes = 33_554_432
    /// The most recipients of a job whose end a request may wait for.
    public static let maximumAwaited = 1_000

    /// As they are pushed.
    public private(set) var fields: [(name: String, value: [UInt8])]

    /// - Parameters:
    ///   - headers: by name in lower case.
    ///   - maximumPriority: of the request's key. A higher priority is lowered to it.
    /// - Throws: the first fault.
    public init(
        _ body: [UInt8],
        headers: [String: String] = [:],
        maximumPriority: Int = 9
    ) throws(ProblemDetails) {
        fields = []
        for member in try Self.members(body) {
            do throws(EntryFault) { fields.append(try Self.field(member, in: body)) } catch {
                throw ProblemDetails(error)
            }
        }
        if let key = headers["idempotency-key"] { try setID(IdempotencyKey.id(key)) }
        addTrace(headers)
        lowerPriority(to: maximumPriority)
    }

    /// nil if neither the body nor a header gives one.
    public var id: String? { value(.id).map { String(decoding: $0, as: UTF8.self) } }

    /// Sets the id of a job that has none.
    public mutating func setMissingID(_ id: @autoclosure () -> String) -> String {
        if let own = self.id { return own }
        let id = id()
        fields.append((EntryField.id.rawValue, Array(id.utf8)))
        return id
    }

    private func value(_ field: EntryField) -> [UInt8]? { fields.first { $0.name == field.rawValue }?.value }

    // MARK: The body

    private struct Member {
        var name: String
        /// Such as `an array`.
        var kind: String
        var range: Range<Int>
    }

    private static func members(_ body: [UInt8]) throws(ProblemDetails) -> [Member] {
        var scanner = JSONScanner(bytes: body, maximumDepth: JSONLimits().maximumDepth)
        scanner.skipSpace()
        let kind = scanner.nextKindName ?? ""
        var members: [Member] = []
        do throws(JSONError) {
            if scanner.nextByte == UInt8(ascii: "{") {
                try scanner.enter()
                while try scanner.findMember(isFirst: members.isEmpty) { members.append(try member(&scanner)) }
            } else {
                try scanner.skipValue()
            }
            try scanner.finish()
        } catch {
            throw ProblemDetails(400, "The body is not JSON at byte \(error.offset): \(error.reason).")
        }
        guard kind == "an object" else { throw ProblemDetails(EntryFault("", "must be an object, not \(kind)")) }
        return members
    }

    private static func member(_ scanner: inout JSONScanner) throws(JSONError) -> Member {
        let name = try scanner.string()
        try scanner.skipColon()
        let (start, kind) = (scanner.next, scanner.nextKindName ?? "")
        try scanner.skipValue()
        return Member(name: name, kind: kind, range: start..<scanner.next)
    }

    private static func field(_ member: Member, in body: [UInt8]) throws(EntryFault) -> (String, [UInt8]) {
        guard let field = EntryField(rawValue: member.name), field.rawValue.utf8.elementsEqual(member.name.utf8) else {
            throw EntryFault(Excerpt.plain(member.name), "unknown field")
        }
        let form = field.form
        try require(member.kind != "null", member.name, "null; leave the field out")
        try require(form.kinds.contains(member.kind), member.name, "must be \(form.words), not \(member.kind)")
        let text = body[member.range]
        // Small values only.
        let value = form == .object || form == .array ? nil : try? JSONParser.parse(text)
        switch value {
        case .string(let text): return (member.name, Array(text.utf8))
        case .bool(let flag): return (member.name, [UInt8(ascii: flag ? "1" : "0")])
        case .number(let number): return (member.name, Array((number.wholeInt64.map(String.init) ?? number.text).utf8))
        default: return (member.name, Array(text))
        }
    }

    // MARK: Headers

    private mutating func setID(_ key: String) throws(ProblemDetails) {
        let header = ProblemDetails.Fault.Place.header("Idempotency-Key")
        do throws(EntryFault) { try RecipientRules.checkID(key.utf8, at: "") } catch {
            throw ProblemDetails(header, error.rule)
        }
        guard let own = value(.id) else { return fields.append((EntryField.id.rawValue, Array(key.utf8))) }
        guard own.elementsEqual(key.utf8) else {
            throw ProblemDetails(EntryFault(EntryField.id.rawValue, "differs from the header Idempotency-Key"))
        }
    }

    /// Adds the trace context of the headers to a body without one.
    private mutating func addTrace(_ headers: [String: String]) {
        guard value(.traceparent) == nil, value(.tracestate) == nil, let trace = TraceHeaders(headers) else { return }
        fields.append((EntryField.traceparent.rawValue, Array(trace.parent.utf8)))
        if let state = trace.state { fields.append((EntryField.tracestate.rawValue, Array(state.utf8))) }
    }

    private mutating func lowerPriority(to maximum: Int) {
        let highest = Array(String(maximum).utf8)
        guard let index = fields.firstIndex(where: { $0.name == EntryField.priority.rawValue }) else {
            if maximum < Job.usualPriority { fields.append((EntryField.priority.rawValue, highest)) }
            return
        }
        // Another text is a fault, which `EntryCheck` finds.
        if let given = DecimalText.parse(fields[index].value), given > maximum, given <= 9 {
            fields[index].value = highest
        }
    }
}

/// The JSON that the value of a field is in the body of a ``JobRequest``.
enum FieldForm: Equatable {
    case object, array, text, flag
    case number(ClosedRange<Int64>)
    case textOrNumber

    /// As ``JSONScanner/nextKindName`` names them.
    var kinds: [String] {
        switch self {
        case .object: ["an object"]
        case .array: ["an array"]
        case .text: ["a string"]
        case .flag: ["a boolean"]
        case .number: ["a number"]
        case .textOrNumber: ["a string", "a number"]
        }
    }

    var words: String { kinds.joined(separator: " or ") }
}

extension EntryField {
    var form: FieldForm {
        switch self {
        case .message, .variants: .object
        case .tokens, .fids, .recipients: .array
        case .validateOnly: .flag
        case .priority: .number(0...9)
        case .notBefore, .expiresAt: .number(Job.times)
        case .audienceSize: .number(0...1_000_000_000_000)
        case .rate: .number(JobRate.range)
        case .canaryWait: .number(Canary.waitRange)
        case .canary: .textOrNumber
        case .format, .token, .fid, .topic, .condition, .group, .audience, .audienceFormat, .id, .results, .delivery,
            .traceparent, .tracestate, .op, .groupName, .stopIf, .sendWindow:
            .text
        }
    }
}
