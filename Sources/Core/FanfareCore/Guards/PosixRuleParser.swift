internal import FanfareModel

/// Reads a POSIX `TZ` text, strictly: anything after the rule or outside its ranges is a fault.
struct PosixRuleParser {
    private var rest: ArraySlice<UInt8>

    private init(_ text: ArraySlice<UInt8>) { rest = text }

    /// - Returns: nil for a text that is no rule, and for one that names daylight saving time without its changes.
    static func parse(_ text: ArraySlice<UInt8>) -> PosixRule? {
        var parser = PosixRuleParser(text)
        return parser.rule()
    }

    private mutating func rule() -> PosixRule? {
        guard skipName(), let west = time(hours: 24), isInRange(-west) else { return nil }
        if rest.isEmpty { return PosixRule(offset: -west, daylight: nil) }
        guard skipName() else { return nil }
        var offset = 3_600 - west
        if rest.first != UInt8(ascii: ",") {
            guard let west = time(hours: 24) else { return nil }
            offset = -west
        }
        guard isInRange(offset), let start = change(), let end = change(), rest.isEmpty else { return nil }
        return PosixRule(offset: -west, daylight: PosixRule.Daylight(offset: offset, start: start, end: end))
    }

    private func isInRange(_ offset: Int64) -> Bool { ZoneRules.offsetRange.contains(offset) }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// `CET`, or `<+01>`: at least three characters.
    private mutating func skipName() -> Bool {
        if skip("<") {
            let name = rest.prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
            rest = rest.dropFirst(name.count)
            return name.count >= 3 && skip(">")
        }
        let name = rest.prefix { $0.isASCIIAlphanumeric && !$0.isASCIIDigit }
        rest = rest.dropFirst(name.count)
        return name.count >= 3
    }

    /// At most three digits.
    private mutating func number(_ range: ClosedRange<Int64>) -> Int64? {
        let digits = rest.prefix { $0.isASCIIDigit }
        guard digits.count <= 3, let number = DecimalText.parse(digits), range.contains(number) else { return nil }
        rest = rest.dropFirst(digits.count)
        return number
    }

    /// `-1`, `+5:30` or `2:00:30`, in seconds.
    private mutating func time(hours most: Int64) -> Int64? {
        let isNegative = skip("-")
        if !isNegative { _ = skip("+") }
        guard let hours = number(0...most) else { return nil }
        var seconds = hours * 3_600
        if skip(":") {
            guard let minutes = number(0...59) else { return nil }
            seconds += minutes * 60
            if skip(":") {
                guard let rest = number(0...59) else { return nil }
                seconds += rest
            }
        }
        return isNegative ? -seconds : seconds
    }

    /// `,M3.5.0/2`, `,J60` or `,59/-1`; at 02:00 without a time.
    private mutating func change() -> PosixRule.Change? {
        guard skip(","), let day = day() else { return nil }
        guard skip("/") else { return PosixRule.Change(day: day, time: 7_200) }
        guard let time = time(hours: 167) else { return nil }
        return PosixRule.Change(day: day, time: time)
    }

    private mutating func day() -> PosixRule.Day? {
        if skip("J") { return number(1...365).map { .julian($0) } }
        guard skip("M") else { return number(0...365).map { .dayOfYear($0) } }
        guard let month = number(1...12), skip("."), let week = number(1...5), skip("."), let day = number(0...6) else {
            return nil
        }
        return .weekday(month: month, week: week, day: day)
    }
}
