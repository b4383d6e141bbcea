/// The one date form that HTTP senders may write (RFC 9110, IMF-fixdate): `Sun, 06 Nov 1994 08:49:37 GMT`.
public enum HTTPDate {
    private static let template = Array("###, ## ### #### ##:##:## GMT".utf8)
    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].map { Array($0.utf8) }
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ].map { Array($0.utf8) }

    /// Unix milliseconds; nil for every other form (RFC 850, asctime, ISO 8601) and for days that do not exist.
    ///
    /// The day's name must be one, but need not be that day's: the rest says plainly which instant is meant.
    public static func milliseconds(_ text: some Collection<UInt8>) -> Int64? {
        guard text.count == template.count else { return nil }
        let bytes = Array(text)
        for (byte, expected) in zip(bytes, template) where expected != UInt8(ascii: "#") && byte != expected {
            return nil
        }
        guard weekdays.contains(Array(bytes[0..<3])),
            let month = months.firstIndex(of: Array(bytes[8..<11])),
            let day = number(bytes[5..<7]), let year = number(bytes[12..<16]),
            let hour = number(bytes[17..<19]), let minute = number(bytes[20..<22]), let second = number(bytes[23..<25]),
            (1...daysIn(month: month + 1, year: year)).contains(day),
            // 60 is a leap second, which Unix time counts as the next minute's first.
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = daysSinceEpoch(year: year, month: month + 1, day: day)
        return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        var value: Int64 = 0
        for byte in digits {
            guard (0x30...0x39).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - 0x30)
        }
        return value
    }

    private static func daysIn(month: Int, year: Int64) -> Int64 {
        switch month {
        case 2: return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: return 30
        default: return 31
        }
    }

    /// Days since 1970-01-01 in the Gregorian calendar. Years are counted from March, so that the leap day is a
    /// year's last and the lengths of the months before it follow one formula; 400 years are 146,097 days.
    private static func daysSinceEpoch(year: Int64, month: Int, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * Int64((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
