internal import FanfareModel

/// The fields that an entry of `jobs` may have.
enum EntryField: String, CaseIterable {
    case message, format
    case token, tokens, fid, fids, topic, condition, group, audience
    case audienceSize = "audience_size"
    case id, priority
    case notBefore = "not_before"
    case expiresAt = "expires_at"
    case validateOnly = "validate_only"
    case results, delivery, traceparent, tracestate, op
    case groupName = "group_name"

    /// The fields that say where a job goes, in the order in which they are looked for.
    static let targets: [EntryField] = [.token, .tokens, .fid, .fids, .topic, .condition, .group, .audience]
}

/// An entry's fields by name, each at most once, none unknown.
struct EntryFields {
    /// An array, because a linear search through a few fields is faster than hashing.
    private var values: [(field: EntryField, value: [UInt8])] = []

    /// - Throws: the first repeated or unknown field, in the order of the entry.
    init(_ fields: [(name: String, value: [UInt8])]) throws(EntryFault) {
        for (name, value) in fields {
            guard let field = EntryField(rawValue: name) else {
                throw EntryFault(Excerpt.plain(name), "unknown field")
            }
            guard self[field] == nil else { throw EntryFault(name, "given more than once") }
            values.append((field, value))
        }
    }

    subscript(field: EntryField) -> [UInt8]? { values.first { $0.field == field }?.value }

    /// The field's value as one of an enumeration's names.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ field: EntryField,
        of type: Choice.Type,
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
        let outside = { (number: String) in
            EntryFault(
                field.rawValue,
                "\(Excerpt.plain(number)) is not \(range.lowerBound) to \(range.upperBound)"
            )
        }
        guard let number = DecimalText.parse(value) else {
            // A number beyond 64 bits is a whole number, too.
            guard DecimalText.isDigits(value) else {
                throw EntryFault(field.rawValue, "\(Excerpt.quoted(value)) is not a whole number")
            }
            throw outside(String(decoding: value, as: UTF8.self))
        }
        guard range.contains(number) else { throw outside("\(number)") }
        return number
    }
}

/// Unsigned decimal numbers, digits only.
enum DecimalText {
    static func isDigits(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty && text.allSatisfy(\.isASCIIDigit)
    }

    /// Nil for anything but digits, and for numbers beyond 64 bits.
    static func parse(_ digits: some Collection<UInt8>) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for byte in digits {
            guard case UInt8(ascii: "0")...UInt8(ascii: "9") = byte else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
            guard !overflow, !carry else { return nil }
            number = sum
        }
        return number
    }
}
