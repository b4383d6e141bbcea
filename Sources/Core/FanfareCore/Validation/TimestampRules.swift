internal import FanfareModel

/// RFC 3339 as protobuf reads it: years 1 to 9999, up to nine decimals, `Z` or an offset, no leap seconds.
enum TimestampRules {
    static func isTimestamp(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 20, matches(bytes[0..<19], "0000-00-00T00:00:00") else { return false }
        let numbers = [0..<4, 5..<7, 8..<10, 11..<13, 14..<16, 17..<19].compactMap { DecimalText.parse(bytes[$0]) }
        let (year, month, day) = (numbers[0], numbers[1], numbers[2])
        guard year >= 1, (1...12).contains(month),
            (1...CalendarTime.days(inMonth: month, year: year)).contains(day),
            numbers[3] <= 23, numbers[4] <= 59, numbers[5] <= 59
        else { return false }
        var rest = bytes[19...]
        if rest.first == UInt8(ascii: ".") {
            let decimals = rest.dropFirst().prefix(while: \.isASCIIDigit)
            guard (1...9).contains(decimals.count) else { return false }
            rest = rest.dropFirst(1 + decimals.count)
        }
        if rest.count == 1 { return rest.first == UInt8(ascii: "Z") }
        guard matches(rest, "+00:00") || matches(rest, "-00:00"),
            let hours = DecimalText.parse(rest.dropFirst().prefix(2)), let minutes = DecimalText.parse(rest.suffix(2))
        else { return false }
        return hours <= 23 && minutes <= 59
    }

    /// A zero in the pattern stands for any digit.
    private static func matches(_ bytes: ArraySlice<UInt8>, _ pattern: String) -> Bool {
        bytes.count == pattern.utf8.count
            && zip(bytes, pattern.utf8).allSatisfy { byte, expected in
                expected == UInt8(ascii: "0") ? byte.isASCIIDigit : byte == expected
            }
    }
}
