internal import FanfareModel

/// A count of first attempts that a condition of `stop_if` limits.
///
/// Errors that are retried, `quota_exceeded`, `unavailable`, `internal` and `transport`, are no measures: a first attempt
/// does not end with them. Errors of groups and topics are none either, because such jobs have no `stop_if`.
public enum StopMeasure: String, CaseIterable, Sendable {
    /// Every failed result.
    case failed
    case unknown
    // Failed results with one error, in lower case.
    case unregistered
    case invalidArgument = "invalid_argument"
    case senderIDMismatch = "sender_id_mismatch"
    case thirdPartyAuthError = "third_party_auth_error"
    case unspecifiedError = "unspecified_error"

    /// Its place among all cases.
    var index: Int {
        switch self {
        case .failed: 0
        case .unknown: 1
        case .unregistered: 2
        case .invalidArgument: 3
        case .senderIDMismatch: 4
        case .thirdPartyAuthError: 5
        case .unspecifiedError: 6
        }
    }

    /// True when the attempt counts for this measure.
    public func counts(_ attempt: FirstAttempt) -> Bool {
        switch self {
        case .failed: if case .failed = attempt { true } else { attempt == .unsendable }
        case .unknown: attempt == .unknown
        case .unregistered: attempt == .failed(.unregistered)
        case .invalidArgument: attempt == .failed(.invalidArgument)
        case .senderIDMismatch: attempt == .failed(.senderIDMismatch)
        case .thirdPartyAuthError: attempt == .failed(.thirdPartyAuthError)
        case .unspecifiedError: attempt == .failed(.unspecified)
        }
    }

    static let retriedErrors = ["quota_exceeded", "unavailable", "internal", "transport"]
}

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

    /// Returns the first condition that holds, in the producer's order; nil when none does.
    ///
    /// A condition holds when its count is more than its share of all attempts, which include those that are retried.
    public func judge(_ counts: AttemptCounts) -> StopFinding? {
        guard let broken = conditions.first(where: { counts[$0.measure] * 1_000 > $0.limit.perMille * counts.attempts })
        else { return nil }
        return StopFinding(
            measure: broken.measure,
            limit: broken.limit,
            count: counts[broken.measure],
            attempts: counts.attempts
        )
    }
}

/// A condition of `stop_if` that holds, with its figure.
public struct StopFinding: Equatable, Sendable {
    public let measure: StopMeasure
    let limit: Percentage
    /// First attempts that the measure counts; 1 to ``attempts``.
    public let count: Int
    public let attempts: Int

    /// The share in tenths of a percent, rounded up, so that it is always above the limit.
    var perMille: Int { (count * 1_000 + attempts - 1) / attempts }

    /// Text for the job hash, such as `stop_if: failed 6.2% of 1000, more than 5%`.
    public var reason: String {
        "stop_if: \(measure.rawValue) \(Percentage.text(perMille: perMille)) of \(attempts), more than \(limit.text)"
    }
}
