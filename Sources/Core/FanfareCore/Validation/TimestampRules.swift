internal import FanfareModel

/// RFC 3339 as protobuf reads it: years 1 to 9999, up to nine decimals, `Z` or an offset, no leap seconds.
enum TimestampRules {
    static func isTimestamp(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 20, matches(bytes[0..<19], "0000-00-00T00:00:00") else { return false }
        guard let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]), let second = number(bytes[17..<19])
        else { return false }
        guard year >= 1, (1...12).contains(month), day >= 1, day <= days(month: month, year: year),
            hour <= 23, minute <= 59, second <= 59
        else { return false }
        var rest = bytes[19...]
        if rest.first == UInt8(ascii: ".") {
            let decimals = rest.dropFirst().prefix(while: \.isASCIIDigit)
            guard (1...9).contains(decimals.count) else { return false }
            rest = rest.dropFirst(1 + decimals.count)
        }
        if rest.count == 1 { return rest.first == UInt8(ascii: "Z") }
        guard matches(rest, "+00:00") || matches(rest, "-00:00"), let hours = number(rest.dropFirst().prefix(2)),
            let minutes = number(rest.suffix(2))
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

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        DecimalText.parse(digits).map(Int.init)
    }

    private static func days(month: Int, year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: return 30
        case 2: return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: return 31
        }
    }
}
