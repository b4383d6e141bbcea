/// The job field `stop_if`: conditions such as `failed>5%; unregistered>20%`, of which the first that holds pauses the job.
///
/// Conditions are separated by `;`. Each is a measure, `>` and a share of 0.1% to 99.9% with at most one decimal. Spaces
/// may stand around the three. Each measure may be given once.
public struct StopConditions: Equatable, Sendable {
    struct Condition: Equatable, Sendable {
        let measure: StopMeasure
        let limit: Percentage
    }

    /// Bytes of the longest text.
    static let maximumLength = 256

    /// In the producer's order; not empty.
    let conditions: [Condition]

    /// - Parameter value: the field's value.
    /// - Throws: for the first condition that breaks a rule.
    public init(_ value: [UInt8]) throws(EntryFault) {
        try require(value.count <= Self.maximumLength, "stop_if", "\(value.count) bytes, at most \(Self.maximumLength)")
        var conditions: [Condition] = []
        for part in value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false) {
            let condition = try Self.parse(part)
            let isNew = !conditions.contains { $0.measure == condition.measure }
            try require(isNew, "stop_if", "\(condition.measure.rawValue) is given more than once")
            conditions.append(condition)
        }
        self.conditions = conditions
    }

    private static func parse(_ part: ArraySlice<UInt8>) throws(EntryFault) -> Condition {
        let text = trimmed(part)
        guard let sign = text.firstIndex(of: UInt8(ascii: ">")) else {
            throw EntryFault("stop_if", "\(Excerpt.quoted(text)) is not a condition such as failed>5%")
        }
        let name = String(decoding: trimmed(text[..<sign]), as: UTF8.self)
        let isRetried = StopMeasure.retriedErrors.contains { $0.utf8.elementsEqual(name.utf8) }
        try require(!isRetried, "stop_if", "\(name) is retried, and retried errors are not counted")
        guard let measure = StopMeasure.allCases.first(where: { $0.rawValue.utf8.elementsEqual(name.utf8) }) else {
            let names = StopMeasure.allCases.map(\.rawValue).joined(separator: ", ")
            throw EntryFault("stop_if", "\(Excerpt.quoted(name)) is not one of \(names)")
        }
        let share = trimmed(text[(sign + 1)...])
        guard let limit = Percentage(share) else {
            throw EntryFault("stop_if", "\(Excerpt.quoted(share)) \(Percentage.rule)")
        }
        return Condition(measure: measure, limit: limit)
    }

    /// The text without the spaces around it. Tabs are not spaces here.
    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let end = text.lastIndex { $0 != UInt8(ascii: " ") }.map { $0 + 1 } ?? text.startIndex
        return text[..<end].drop { $0 == UInt8(ascii: " ") }
    }

    /// The canonical text, which Redis keeps: `failed>5%; unregistered>20%`. It parses to the same conditions.
    public var text: String {
        conditions.map { "\($0.measure.rawValue)>\($0.limit.text)" }.joined(separator: "; ")
    }
}
