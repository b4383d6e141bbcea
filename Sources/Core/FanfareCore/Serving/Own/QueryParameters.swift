internal import FanfareModel

/// The parameters of a query of Fanfare's own API. Unknown and repeated ones are faults: they are often misspelt.
public struct QueryParameters: Equatable, Sendable {
    private var values: [String: String] = [:]

    /// - Parameters:
    ///   - text: the query, still encoded.
    ///   - names: of the parameters that the path has.
    /// - Throws: the first fault.
    public init(_ text: String, _ names: [String]) throws(ProblemDetails) {
        for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(halves[0]), names.contains(name) else {
                let name = Excerpt.plain(Self.decoded(halves[0]) ?? "")
                throw ProblemDetails(.parameter(name), "unknown parameter")
            }
            guard values[name] == nil else { throw ProblemDetails(.parameter(name), "given more than once") }
            guard halves.count == 2, let value = Self.decoded(halves[1]) else {
                throw ProblemDetails(.parameter(name), "has no value")
            }
            values[name] = value
        }
    }

    public subscript(name: String) -> String? { values[name] }

    /// The value as a whole number in digits; nil for a parameter that is not given.
    public func number(_ name: String, in range: ClosedRange<Int64>) throws(ProblemDetails) -> Int64? {
        guard let text = values[name] else { return nil }
        guard DecimalText.isDigits(text.utf8), let number = DecimalText.parse(text.utf8), range.contains(number) else {
            throw ProblemDetails(.parameter(name), "must be a number, \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Whether the value is 1; 0 is the same as none.
    public func flag(_ name: String) throws(ProblemDetails) -> Bool { try number(name, in: 0...1) == 1 }

    /// The value as one of these words; nil for a parameter that is not given.
    public func choice(_ name: String, of words: [String]) throws(ProblemDetails) -> String? {
        guard let text = values[name] else { return nil }
        guard words.contains(where: { $0.utf8.elementsEqual(text.utf8) }) else {
            throw ProblemDetails(.parameter(name), "must be one of \(words.joined(separator: ", "))")
        }
        return text
    }

    /// The value, read by `read`; nil for a parameter that is not given.
    public func value<Value>(
        _ name: String,
        _ rule: String,
        _ read: (String) -> Value?
    ) throws(ProblemDetails) -> Value? {
        guard let text = values[name] else { return nil }
        guard let value = read(text) else { throw ProblemDetails(.parameter(name), rule) }
        return value
    }

    private static func decoded(_ text: Substring.UTF8View) -> String? {
        PercentDecoding.bytes(of: text, plusIsSpace: true).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
