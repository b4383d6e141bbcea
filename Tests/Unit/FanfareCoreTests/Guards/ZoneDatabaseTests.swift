import Foundation
import Testing

@testable import FanfareCore

/// Reads the machine's time zone database, and compares the offsets with Foundation's.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/usr/share/zoneinfo/UTC"), "no /usr/share/zoneinfo here"))
struct ZoneDatabaseTests {
    /// 1975-01-01 to 2100-01-01. Foundation has a database of its own: if it is of another version than the machine's,
    /// 2000-01-01 to 2018-01-01. Versions correct the years before, and know other plans for the years after.
    private static let years: ClosedRange<Int64> =
        isSameVersion ? 157_766_400...4_102_444_800 : 946_684_800...1_514_764_800

    private static let isSameVersion: Bool = {
        let database = FileManager.default.contents(atPath: "/usr/share/zoneinfo/tzdata.zi") ?? Data()
        return database.starts(with: Array("# version \(TimeZone.timeZoneDataVersion)\n".utf8))
    }()

    private static func rules(_ zone: String) throws -> ZoneRules {
        try ZoneRules(bytes: Array(Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/\(zone)"))))
    }

    /// Every so many seconds, and the seconds around each moment at which either side changes its offset.
    private static func moments(_ rules: ZoneRules, _ zone: TimeZone, every step: Int64) -> [Int64] {
        var moments = Array(stride(from: years.lowerBound, through: years.upperBound, by: Int(step)))
        var from = years.lowerBound
        while from < years.upperBound {
            guard let end = rules.span(at: from).end else { break }
            moments += [end - 3_600, end - 1, end, end + 1, end + 3_600].filter { years.contains($0) }
            from = end
        }
        var date = Date(timeIntervalSince1970: TimeInterval(years.lowerBound))
        while let next = zone.nextDaylightSavingTimeTransition(after: date), next > date {
            let moment = Int64(next.timeIntervalSince1970)
            guard moment < years.upperBound else { break }
            moments += [moment - 1, moment]
            date = next
        }
        return moments
    }

    private static func firstDifference(_ name: String, every step: Int64) throws -> String? {
        let rules = try rules(name)
        let zone = try #require(TimeZone(identifier: name))
        for moment in moments(rules, zone, every: step) {
            let expected = zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(moment)))
            let found = rules.offsetSeconds(at: moment)
            if found != expected { return "\(name) at \(moment): \(found), not \(expected)" }
        }
        return nil
    }

    /// Half-hour changes, negative daylight saving time, a skipped day, rules for Ramadan, two changes at once.
    @Test(arguments: [
        "Europe/Madrid", "America/Sao_Paulo", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca",
        "Pacific/Apia",
        "America/St_Johns", "Antarctica/Troll", "Europe/Dublin",
    ])
    func unusualZoneAgreesEverySevenHours(zone: String) throws {
        #expect(try Self.firstDifference(zone, every: 25_237) == nil)
    }

    @Test(arguments: [
        "UTC", "Etc/GMT+12", "Etc/GMT-14", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi",
        "America/Anchorage", "America/Argentina/Buenos_Aires", "America/Bogota", "America/Caracas", "America/Chicago",
        "America/Denver", "America/Havana", "America/Lima", "America/Los_Angeles", "America/Mexico_City",
        "America/New_York",
        "America/Nuuk", "America/Santiago", "America/Toronto", "Asia/Amman", "Asia/Dhaka", "Asia/Dubai", "Asia/Gaza",
        "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Jerusalem", "Asia/Kathmandu", "Asia/Pyongyang", "Asia/Seoul",
        "Asia/Shanghai",
        "Asia/Singapore", "Asia/Tehran", "Asia/Tokyo", "Atlantic/Azores", "Australia/Adelaide", "Australia/Sydney",
        "Europe/Berlin", "Europe/Istanbul", "Europe/Kyiv", "Europe/London", "Europe/Moscow", "Europe/Volgograd",
        "Pacific/Auckland", "Pacific/Chatham", "Pacific/Easter", "Pacific/Honolulu", "Pacific/Kiritimati",
        "Pacific/Kwajalein", "Pacific/Norfolk",
    ])
    func zoneAgreesEveryTenDays(zone: String) throws {
        #expect(try Self.firstDifference(zone, every: 864_007) == nil)
    }

    /// Files of every zone are read, `right/` aside.
    @Test func everyFileOfTheDatabaseIsRead() throws {
        let names = try FileManager.default.subpathsOfDirectory(atPath: "/usr/share/zoneinfo")
        var count = 0
        for name in names where !name.hasPrefix("right/") {
            guard let data = FileManager.default.contents(atPath: "/usr/share/zoneinfo/\(name)"),
                data.starts(with: Array("TZif".utf8))
            else { continue }
            #expect(throws: Never.self, "\(name)") { try ZoneRules(bytes: Array(data)) }
            count += 1
        }
        #expect(count > 100)
    }
}
