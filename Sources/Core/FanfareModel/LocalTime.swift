/// A date and a time of day on the clocks of any zone, such as `2027-03-01T09:00`, and the ids of the jobs that begin then.
///
/// The jobs of `sale` are named by the UTC time of their instants: `sale.0800Z`. Zones are up to 26 hours apart, so that
/// two instants may show one UTC time on different days. Jobs of zones east of UTC+12 are therefore named
/// `sale.2000Z.east`, and jobs of UTC-12 and west of it `sale.2100Z.west`. An id depends on the local time and the
/// instant alone, not on the other zones, so that a repeated push names the same jobs.
public struct LocalTime: Equatable, Sendable {
    /// The ends of a job's id after the UTC time.
    public static let sides = ["", ".east", ".west"]
    /// Bytes of the longest end of an id: `.2100Z.west`.
    public static let longestEnd = 11
    private static let halfDayMs: Int64 = 12 * 3_600_000

    /// Milliseconds since 1970-01-01 00:00 on that clock.
    public let milliseconds: Int64

    /// Nil for another form, and for days and times that do not exist in any zone.
    public init?(_ text: String) {
        guard text.utf8.count == 16, let time = Timestamp.milliseconds(rfc3339: text + ":00Z"),
            Job.times.contains(time - 2 * Self.halfDayMs), Job.times.contains(time + 2 * Self.halfDayMs)
        else { return nil }
        milliseconds = time
    }

    /// The id of the job that begins at an instant of this local time.
    ///
    /// - Parameters:
    ///   - family: the id that all jobs of the local time begin with.
    ///   - instantMs: Unix milliseconds.
    public func id(of family: String, instantMs: Int64) -> String {
        let utc = CalendarTime(unixMs: instantMs)
        let aheadMs = milliseconds - instantMs
        let side = aheadMs > Self.halfDayMs ? ".east" : aheadMs <= -Self.halfDayMs ? ".west" : ""
        return Self.id(of: family, hour: utc.hour, minute: utc.minute, side: side)
    }

    public static func id(of family: String, hour: Int64, minute: Int64, side: String) -> String {
        "\(family).\(CalendarTime.padded(hour, 2))\(CalendarTime.padded(minute, 2))Z\(side)"
    }
}
