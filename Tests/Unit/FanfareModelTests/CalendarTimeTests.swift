import FanfareModel
import Testing

@Suite struct CalendarTimeTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_123, "2000-02-29T00:00:00.123Z"),
        (1_709_251_199_000, "2024-02-29T23:59:59.000Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    ])
    func unixMillisecondsAreWrittenAsRFC3339(unixMs: Int64, text: String) {
        #expect(CalendarTime(unixMs: unixMs).rfc3339 == text)
        #expect(CalendarTime(unixMs: unixMs).date == String(text.prefix(10)))
    }

    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
        (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
    ])
    func unixSecondsAreWrittenAsHTTPDate(seconds: Int64, text: String) {
        #expect(HTTPDate.text(unixMs: seconds * 1_000 + 999) == text)
        #expect(HTTPDate.milliseconds(text.utf8) == seconds * 1_000)
    }

    @Test func everyDayUntil2400IsReadBackAsWritten() {
        for day in stride(from: -25_000, to: 157_000, by: 1) as StrideTo<Int64> {
            let unixMs = day * 86_400_000
            let text = HTTPDate.text(unixMs: unixMs)
            if HTTPDate.milliseconds(text.utf8) != unixMs { Issue.record("\(text) is not day \(day)") }
        }
    }
}
