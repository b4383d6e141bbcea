/// The value of the header `date`, formatted once a second. Confined to one event loop.
final class HTTPDateText {
    private var second: Int64 = -1
    private var text = ""

    func now() -> String {
        let current = SimulatorHost.unixMilliseconds() / 1_000
        if current != second {
            second = current
            text = Self.format(current)
        }
        return text
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, for times from 1970 on.
    static func format(_ unixSeconds: Int64) -> String {
        let days = unixSeconds / 86_400
        let rest = unixSeconds % 86_400
        // Years begin in March here, so that a leap day is the last of its year.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(days % 7)]
        let names = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"]
        let date = "\(two(day)) \(names[Int(month)]) \(year)"
        return "\(weekday), \(date) \(two(rest / 3_600)):\(two(rest / 60 % 60)):\(two(rest % 60)) GMT"
    }

    private static func two(_ value: Int64) -> String {
        value < 10 ? "0\(value)" : "\(value)"
    }
}
