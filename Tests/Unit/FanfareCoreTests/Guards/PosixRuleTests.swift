import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct PosixRuleTests {
    private static func rule(_ text: String) -> PosixRule? { PosixRuleParser.parse(Array(text.utf8)[...]) }

    @Test(
        arguments: [
            ("UTC0", 0), ("CET-1", 3_600), ("<+0530>-5:30", 19_800), ("<-03>3", -10_800), ("LMT-0:14:44", 884),
            ("ABC+24:59:59", -89_999), ("ABC-24:59:59", 89_999), ("abcdef-001", 3_600),
        ] as [(String, Int64)]
    )
    func offsetWithoutDaylightTimeIsRead(text: String, offset: Int64) {
        #expect(Self.rule(text) == PosixRule(offset: offset, daylight: nil))
    }

    @Test(
        arguments: [
            (
                "CET-1CEST,M3.5.0,M10.5.0/3", 7_200, .weekday(month: 3, week: 5, day: 0), 7_200,
                .weekday(month: 10, week: 5, day: 0), 10_800
            ),
            ("AAA0BBB-0:30,J1/0,J365/24", 1_800, .julian(1), 0, .julian(365), 86_400),
            ("AAA0BBB,0/-167,365/167:59:59", 3_600, .dayOfYear(0), -601_200, .dayOfYear(365), 604_799),
            (
                "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -3_600, .weekday(month: 3, week: 5, day: 0), -3_600,
                .weekday(month: 10, week: 5, day: 0), 0
            ),
            (
                "IST-1GMT0,M10.5.0,M3.5.0/1", 0, .weekday(month: 10, week: 5, day: 0), 7_200,
                .weekday(month: 3, week: 5, day: 0), 3_600
            ),
        ] as [(String, Int64, PosixRule.Day, Int64, PosixRule.Day, Int64)]
    )
    func changesAreRead(
        text: String,
        offset: Int64,
        startDay: PosixRule.Day,
        startTime: Int64,
        endDay: PosixRule.Day,
        endTime: Int64
    ) {
        let daylight = PosixRule.Daylight(
            offset: offset,
            start: PosixRule.Change(day: startDay, time: startTime),
            end: PosixRule.Change(day: endDay, time: endTime)
        )
        #expect(Self.rule(text)?.daylight == daylight)
    }

    @Test(arguments: [
        "", "CE-1", "CET", "-1", "<+1>-1", "<+01-1", "<+0 1>-1", "CET-25", "CET-1:60", "CET-1:00:60", "CET-0001",
        "CET-1 ",
        "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,M10.5.0/3,", "CET-1CEST,M3.5.0;M10.5.0",
        "CET-1CE,M3.5.0,M10.5.0",
        "CET-1CEST,M0.5.0,M10.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.0.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,M3.5,M10.5.0", "CET-1CEST,J0,J365", "CET-1CEST,J1,J366",
        "CET-1CEST,1,366",
        "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,M3.5.0/,M10.5.0", "CET-1CEST-25,M3.5.0,M10.5.0",
        "AAA-24BBB-24:59:59,1,2x",
        ":Europe/Madrid",
        "CET--1", "CET-+1", "CET-1CEST,J,J2", "CET-1CEST,M3.5.0/--1,M10.5.0", "CET-1\0",
    ])
    func otherTextIsNoRule(text: String) {
        #expect(Self.rule(text) == nil)
    }

    @Test(
        arguments: [
            // February 29 is not counted by J, and is day 59 from 0.
            (.julian(1), 2024, "2024-01-01"), (.julian(59), 2024, "2024-02-28"), (.julian(60), 2024, "2024-03-01"),
            (.julian(60), 2023, "2023-03-01"), (.julian(365), 2024, "2024-12-31"), (.julian(365), 2023, "2023-12-31"),
            (.julian(60), 2100, "2100-03-01"),
            (.dayOfYear(0), 2024, "2024-01-01"), (.dayOfYear(59), 2024, "2024-02-29"),
            (.dayOfYear(59), 2023, "2023-03-01"),
            (.dayOfYear(365), 2024, "2024-12-31"), (.dayOfYear(365), 2023, "2024-01-01"),
            (.weekday(month: 3, week: 5, day: 0), 2026, "2026-03-29"),
            (.weekday(month: 10, week: 5, day: 0), 2026, "2026-10-25"),
            (.weekday(month: 3, week: 2, day: 0), 2026, "2026-03-08"),
            (.weekday(month: 11, week: 1, day: 0), 2026, "2026-11-01"),
            // Fridays of a month that begins with one, and of one that has four.
            (.weekday(month: 5, week: 1, day: 5), 2026, "2026-05-01"),
            (.weekday(month: 5, week: 5, day: 5), 2026, "2026-05-29"),
            (.weekday(month: 2, week: 5, day: 5), 2026, "2026-02-27"),
            (.weekday(month: 2, week: 4, day: 6), 2026, "2026-02-28"),
            (.weekday(month: 2, week: 5, day: 4), 2024, "2024-02-29"),
            (.weekday(month: 1, week: 1, day: 3), 1969, "1969-01-01"),
            (.weekday(month: 12, week: 5, day: 3), 1969, "1969-12-31"),
            (.weekday(month: 1, week: 1, day: 4), 1970, "1970-01-01"),
        ] as [(PosixRule.Day, Int64, String)]
    )
    func dayFallsOnItsDate(day: PosixRule.Day, year: Int64, date: String) {
        #expect(CalendarTime(unixMs: PosixRule.days(of: day, year: year) * 86_400_000).date == date)
    }

    @Test(
        arguments: [
            // North: the moments of the changes, and one second before each.
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T00:59:59Z", 3_600),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", 7_200),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T00:59:59Z", 7_200),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", 3_600),
            // South: daylight saving time lasts over the turn of the year.
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2025-12-31T23:59:59Z", 39_600),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z", 39_600),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-04-04T15:59:59Z", 39_600),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-04-04T16:00:00Z", 36_000),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-10-03T15:59:59Z", 36_000),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-10-03T16:00:00Z", 39_600),
            // Ireland: the standard time is that of the summer.
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-07-01T00:00:00Z", 3_600),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-01-01T00:00:00Z", 0),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-03-29T00:59:59Z", 0),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-03-29T01:00:00Z", 3_600),
            // Daylight saving time all year, as RFC 8536 writes it.
            ("EST5EDT,0/0,J365/25", "2026-01-01T04:59:59Z", -14_400),
            ("EST5EDT,0/0,J365/25", "2026-01-01T05:00:00Z", -14_400),
            ("EST5EDT,0/0,J365/25", "2026-07-01T00:00:00Z", -14_400),
            // Both changes of 2026 fall in 2025, and daylight saving time that begins in January of 2025 ends in that of 2026.
            ("AAA0BBB,0/-167,1/-167", "2025-12-25T12:00:00Z", 3_600),
            ("AAA0BBB,0/-167,1/-167", "2025-12-31T00:00:00Z", 0),
            ("AAA0BBB,365/167,365/100", "2026-01-02T00:00:00Z", 3_600),
            // A change before the midnight of its day, and one 26 hours after it.
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59Z", -7_200),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -3_600),
            ("IST-2IDT,M3.4.4/26,M10.5.0", "2026-03-26T23:59:59Z", 7_200),
            ("IST-2IDT,M3.4.4/26,M10.5.0", "2026-03-27T00:00:00Z", 10_800),
        ] as [(String, String, Int64)]
    )
    func offsetChangesAtTheRulesMoments(text: String, moment: String, offset: Int64) throws {
        let seconds = try #require(Timestamp.milliseconds(rfc3339: moment)) / 1_000
        let span = try #require(Self.rule(text)).span(at: seconds)
        #expect(span.offset == offset)
        #expect(try #require(span.end) > seconds)
    }
}
