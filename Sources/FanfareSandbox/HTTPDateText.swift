import Foundation

/// The header `date`, made once a second; confined to one event loop.
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

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    static func format(_ unixSeconds: Int64) -> String {
        var time = time_t(unixSeconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let date = "\(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1_900)"
        return
            "\(days[Int(parts.tm_wday)]), \(date) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }
}
