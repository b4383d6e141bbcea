/// Dates of HTTP (RFC 9110, 5.6.7). Senders write the first form; recipients read all three:
///
/// | form | example |
/// |---|---|
/// | IMF-fixdate | `Sun, 06 Nov 1994 08:49:37 GMT` |
/// | RFC 850 | `Sunday, 06-Nov-94 08:49:37 GMT` |
/// | asctime | `Sun Nov  6 08:49:37 1994` |
public enum HTTPDate {
    private static let fixdate = Array("###, ## ### #### ##:##:## GMT".utf8)
    private static let asctime = Array("### ### ## ##:##:## ####".utf8)
    /// Of RFC 850, after the weekday.
    private static let rfc850 = Array(", ##-###-## ##:##:## GMT".utf8)
    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let longWeekdays = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// - Parameter unixMs: Unix milliseconds, of which the second is written.
    public static func text(unixMs: Int64) -> String {
        let time = CalendarTime(unixMs: unixMs)
        let (weekday, month) = (weekdays[Int(time.weekday)], months[Int(time.month) - 1])
        let day = CalendarTime.padded(time.day, 2)
        return "\(weekday), \(day) \(month) \(CalendarTime.padded(time.year, 4)) \(time.clock) GMT"
    }

    /// Unix milliseconds; nil for every other form (ISO 8601, other zones) and for days that do not exist.
    ///
    /// The weekday may be any: the rest names the instant.
    ///
    /// - Parameter nowMs: Unix milliseconds, by which the two digits of an RFC 850 year are read: not more than 50 years
    ///   ahead. Without it that form is not read.
    public static func milliseconds(_ text: some Collection<UInt8>, nowMs: Int64? = nil) -> Int64? {
        guard text.count <= 40 else { return nil }
        let bytes = Array(text)
        if matches(bytes, fixdate), isShortWeekday(bytes[0..<3]), let year = DecimalText.parse(bytes[12..<16]) {
            return instant(year, bytes[8..<11], bytes[5..<7], bytes[17..<25])
        }
        if matches(bytes, asctime), isShortWeekday(bytes[0..<3]), let year = DecimalText.parse(bytes[20..<24]) {
            let day = bytes[8] == UInt8(ascii: " ") ? bytes[9..<10] : bytes[8..<10]
            return instant(year, bytes[4..<7], day, bytes[11..<19])
        }
        let weekday = bytes.prefix { $0 != UInt8(ascii: ",") }
        let rest = Array(bytes.dropFirst(weekday.count))
        guard let nowMs, matches(rest, rfc850), longWeekdays.contains(where: { weekday.elementsEqual($0.utf8) }),
            let digits = DecimalText.parse(rest[9..<11])
        else { return nil }
        // The years 1970 to 9999.
        let latest = CalendarTime(unixMs: max(0, min(nowMs, 253_402_300_799_000))).year + 50
        let year = latest - (latest - digits) % 100
        return instant(year, rest[5..<8], rest[2..<4], rest[12..<20])
    }

    /// Whether the text is the name of a weekday, which a comma follows in two of the forms.
    static func isWeekday(_ text: [UInt8]) -> Bool {
        isShortWeekday(text[...]) || longWeekdays.contains { text.elementsEqual($0.utf8) }
    }

    private static func isShortWeekday(_ text: ArraySlice<UInt8>) -> Bool {
        weekdays.contains { text.elementsEqual($0.utf8) }
    }

    /// Whether the text is the template, in which `#` stands for any byte.
    private static func matches(_ text: [UInt8], _ template: [UInt8]) -> Bool {
        text.count == template.count && zip(text, template).allSatisfy { $1 == UInt8(ascii: "#") || $0 == $1 }
    }

    /// - Parameter clock: `08:49:37`, whose colons were checked.
    private static func instant(
        _ year: Int64,
        _ month: ArraySlice<UInt8>,
        _ day: ArraySlice<UInt8>,
        _ clock: ArraySlice<UInt8>
    ) -> Int64? {
        let parts = clock.split(separator: UInt8(ascii: ":")).map { DecimalText.parse($0) }
        guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2],
            let index = months.firstIndex(where: { month.elementsEqual($0.utf8) }), let day = DecimalText.parse(day)
        else { return nil }
        let month = Int64(index) + 1
        // 60 is a leap second, which Unix time counts as the next minute's first.
        guard (1...CalendarTime.days(inMonth: month, year: year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = CalendarTime.daysSinceEpoch(year: year, month: month, day: day)
        return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000
    }
}
