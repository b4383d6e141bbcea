import FanfareModel
import Testing

@Suite struct LocalTimeTests {
    private static let morning = 1_803_891_600_000 as Int64

    @Test func dateAndTimeWithoutAZoneAreRead() {
        #expect(LocalTime("2027-03-01T09:00")?.milliseconds == Self.morning)
        for text in [
            "2027-03-01T09:00Z", "2027-03-01 09:00", "2027-02-29T09:00", "2027-03-01T24:00", "2027-03-01", "",
            "1970-01-01T00:00",
            "9999-12-31T23:59",
        ] {
            #expect(LocalTime(text) == nil, "\(text)")
        }
    }

    /// The zones of the world, from UTC+14 to UTC-12, are named apart, though they are more than a day apart.
    @Test func idsOfAllOffsetsDiffer() throws {
        let time = try #require(LocalTime("2027-03-01T09:00"))
        let instants = stride(from: -12 * 60, through: 14 * 60, by: 15).map { Self.morning - Int64($0) * 60_000 }
        let ids = instants.map { time.id(of: "sale", instantMs: $0) }
        #expect(Set(ids).count == instants.count)
        #expect(time.id(of: "sale", instantMs: Self.morning - 3_600_000) == "sale.0800Z")
        #expect(time.id(of: "sale", instantMs: Self.morning - 14 * 3_600_000) == "sale.1900Z.east")
        #expect(time.id(of: "sale", instantMs: Self.morning + 10 * 3_600_000) == "sale.1900Z")
        #expect(time.id(of: "sale", instantMs: Self.morning - 12 * 3_600_000) == "sale.2100Z")
        #expect(time.id(of: "sale", instantMs: Self.morning + 12 * 3_600_000) == "sale.2100Z.west")
        #expect(ids.map { $0.utf8.count - 4 }.max() == LocalTime.longestEnd)
    }
}
