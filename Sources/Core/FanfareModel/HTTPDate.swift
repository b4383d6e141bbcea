/// The one date form that HTTP senders may write (RFC 9110, IMF-fixdate): `Sun, 06 Nov 1994 08:49:37 GMT`.
public enum HTTPDate {
    private static let template = Array("###, ## ### #### ##:##:## GMT".utf8)
    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// - Parameter unixMs: Unix milliseconds, of which the second is written.
    public static func text(unixMs: Int64) -> String {
        let time = CalendarTime(unixMs: unixMs)
        let (weekday, month) = (weekdays[Int(time.weekday)], months[Int(time.month) - 1])
        let day = CalendarTime.padded(time.day, 2)
        return "\(weekday), \(day) \(month) \(CalendarTime.padded(time.year, 4)) \(time.clock) GMT"
    }

    /// Unix milliseconds; nil for every other form (RFC 850, asctime, ISO 8601) and for days that do not exist.
    ///
    /// The weekday may be any: the rest names the instant.
    public static func milliseconds(_ text: some Collection<UInt8>) -> Int64? {
        guard text.count == template.count else { return nil }
        let bytes = Array(text)
        for (byte, expected) in zip(bytes, template) where expected != UInt8(ascii: "#") && byte != expected {
            return nil
        }
        guard weekdays.contains(where: { bytes[0..<3].elementsEqual($0.utf8) }),
            let index = months.firstIndex(where: { bytes[8..<11].elementsEqual($0.utf8) }),
            let day = DecimalText.parse(bytes[5..<7]), let year = DecimalText.parse(bytes[12..<16]),
            let hour = DecimalText.parse(bytes[17..<19]), let minute = DecimalText.parse(bytes[20..<22]),
            let second = DecimalText.parse(bytes[23..<25])
        else { return nil }
        let month = Int64(index) + 1
        // 60 is a leap second, which Unix time counts as the next minute's first.
        guard (1...CalendarTime.days(inMonth: month, year: year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = CalendarTime.daysSinceEpoch(year: year, month: month, day: day)
        return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000
    }
}
