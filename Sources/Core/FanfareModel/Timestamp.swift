/// Reads timestamps of RFC 3339, as protobuf reads them: years 1 to 9999, up to nine decimals, no leap seconds:
/// `2026-11-21T09:05:07.123Z`.
public enum Timestamp {
    /// Unix milliseconds; nil for every other form, and for days and times that do not exist.
    public static func milliseconds(rfc3339 text: some Collection<UInt8>) -> Int64? {
        // The longest form has nine decimals and an offset: 35 bytes.
        let bytes = Array(text.prefix(36))
        let marks: [(Int, UInt8)] = [(4, 0x2D), (7, 0x2D), (10, 0x54), (13, 0x3A), (16, 0x3A)]
        guard bytes.count >= 20, marks.allSatisfy({ bytes[$0.0] == $0.1 }),
            let year = DecimalText.parse(bytes[0..<4]), let month = DecimalText.parse(bytes[5..<7]),
            let day = DecimalText.parse(bytes[8..<10]), let hour = DecimalText.parse(bytes[11..<13]),
            let minute = DecimalText.parse(bytes[14..<16]), let second = DecimalText.parse(bytes[17..<19]),
            year >= 1, (1...12).contains(month),
            (1...CalendarTime.days(inMonth: month, year: year)).contains(day), hour < 24, minute < 60, second < 60
        else { return nil }
        var rest = bytes[19...]
        var fraction: Int64 = 0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix(while: \.isASCIIDigit)
            guard (1...9).contains(digits.count),
                let value = DecimalText.parse((Array(digits) + [0x30, 0x30])[0..<3])
            else { return nil }
            fraction = value
            rest = rest.dropFirst(1 + digits.count)
        }
        guard let offset = offsetMinutes(rest) else { return nil }
        let days = CalendarTime.daysSinceEpoch(year: year, month: month, day: day)
        return ((days * 24 + hour) * 60 + minute - offset) * 60_000 + second * 1_000 + fraction
    }

    /// The same of a `String`.
    public static func milliseconds(rfc3339 text: String) -> Int64? { milliseconds(rfc3339: text.utf8) }

    /// Minutes east of UTC, of `Z` or `+01:30`.
    private static func offsetMinutes(_ text: ArraySlice<UInt8>) -> Int64? {
        let bytes = Array(text)
        if bytes == [UInt8(ascii: "Z")] { return 0 }
        guard bytes.count == 6, bytes[3] == UInt8(ascii: ":"), let hours = DecimalText.parse(bytes[1..<3]),
            let minutes = DecimalText.parse(bytes[4..<6]), hours < 24, minutes < 60
        else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "+"): return hours * 60 + minutes
        case UInt8(ascii: "-"): return -(hours * 60 + minutes)
        default: return nil
        }
    }
}
