internal import FanfareModel

/// The fields that an entry of `jobs` may have.
enum EntryField: String, CaseIterable {
    case message, format
    case token, tokens, fid, fids, topic, condition, group, audience, recipients
    case audienceFormat = "audience_format"
    case variants
    case audienceSize = "audience_size"
    case id, priority
    case notBefore = "not_before"
    case expiresAt = "expires_at"
    case validateOnly = "validate_only"
    case results, delivery, traceparent, tracestate, op
    case groupName = "group_name"
    case rate, canary
    case canaryWait = "canary_wait_ms"
    case stopIf = "stop_if"
    case sendWindow = "send_window"

    /// The fields that say where a job goes, in the order in which they are looked for.
    static let targets: [EntryField] = [
        .token, .tokens, .fid, .fids, .topic, .condition, .group, .audience, .recipients,
    ]
    /// The guards that need a list of recipients.
    static let listGuards: [EntryField] = [.rate, .canary, .canaryWait, .stopIf]
}

/// An entry's fields by name, each at most once, none unknown.
struct EntryFields {
    /// An array, because a linear search through a few fields is faster than hashing.
    private var given: [EntryField] = []
    /// Of each field that is given.
    private var values: [[UInt8]] = []

    /// - Throws: the first repeated or unknown field, in the order of the entry.
    init(_ fields: [(name: String, value: [UInt8])]) throws(EntryFault) {
        given.reserveCapacity(fields.count)
        values.reserveCapacity(fields.count)
        for (name, value) in fields {
            guard let field = EntryField(rawValue: name) else {
                throw EntryFault(Excerpt.plain(name), "unknown field")
            }
            try require(self[field] == nil, name, "given more than once")
            given.append(field)
            values.append(value)
        }
    }

    subscript(field: EntryField) -> [UInt8]? { given.firstIndex(of: field).map { values[$0] } }

    /// The field's value as one of an enumeration's names.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ field: EntryField,
        unless fallback: Choice
    ) throws(EntryFault) -> Choice where Choice.RawValue == String {
        guard let value = self[field] else { return fallback }
        let found = Choice.allCases.first { !$0.rawValue.isEmpty && $0.rawValue.utf8.elementsEqual(value) }
        guard let found else {
            let names = Choice.allCases.map(\.rawValue).filter { !$0.isEmpty }.joined(separator: ", ")
            throw EntryFault(field.rawValue, "\(Excerpt.quoted(value)) is not one of \(names)")
        }
        return found
    }

    /// The field's value as an unsigned decimal number; nil when the field is absent.
    func number(_ field: EntryField, in range: ClosedRange<Int64>) throws(EntryFault) -> Int64? {
        guard let value = self[field] else { return nil }
        try require(DecimalText.isDigits(value), field.rawValue, "\(Excerpt.quoted(value)) is not a whole number")
        // A number beyond 64 bits is out of every range.
        guard let number = DecimalText.parse(value), range.contains(number) else {
            let text = Excerpt.plain(String(decoding: value, as: UTF8.self))
            throw EntryFault(field.rawValue, "\(text) is not \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
