import FanfareModel
import Foundation
import Testing

@Suite struct RetryAfterTests {
    static let now: Int64 = 784_111_777_000  // Sun, 06 Nov 1994 08:49:37 GMT

    @Test(
        arguments: [
            ("1", 1_000), ("5", 5_000), (" 120\t", 120_000), ("0012", 12_000), ("21600", 21_600_000),
            ("21601", 21_600_000), ("100000000000000", 21_600_000), ("9223372036854775807", 21_600_000),
            ("Sun, 06 Nov 1994 08:50:37 GMT", 60_000), ("Mon, 07 Nov 1994 08:49:37 GMT", 21_600_000),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 21_600_000),
        ] as [(String, Int64)]
    )
    func counts(value: String, expected: Int64) {
        #expect(RetryAfterParser.milliseconds(value, date: nil, nowMs: Self.now) == expected)
    }

    @Test(arguments: [
        "", " ", "0", "000", "-1", "-5", "+5", "1.5", "5.", ".5", "5s", "5 10", "5, 10", "5,10", "soon", "1e3", "0x10",
        "٣", "9223372036854775808", "99999999999999999999999999",
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:36 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
        "2026-11-06T08:49:37Z", "Sunday, 06-Nov-95 08:49:37 GMT", "Sun Nov  6 08:49:37 1995",
        "Sun, 06 Nov 1995 08:49:37 UTC", "Sun, 06 Nov 1995 08:49:37 +0000", "Sun, 6 Nov 1995 08:49:37 GMT",
        "Sun, 31 Feb 1995 08:49:37 GMT", "Sun, 29 Feb 1995 08:49:37 GMT", "Sun, 00 Nov 1995 08:49:37 GMT",
        "Sun, 06 Nov 1995 24:00:00 GMT", "Sun, 06 Nov 1995 08:60:00 GMT", "Sun, 06 Nov 1995 08:49:61 GMT",
        "Sun, 06 nov 1995 08:49:37 GMT", "Xyz, 06 Nov 1995 08:49:37 GMT",
        "Sun, 06 Nov 1995 08:49:37 GMT, Sun, 06 Nov 1995 08:49:37 GMT",
    ])
    func isAbsent(value: String) {
        #expect(RetryAfterParser.milliseconds(value, date: nil, nowMs: Self.now) == nil)
    }

    @Test func measuresAgainstTheServersOwnClock() {
        let value = "Sun, 06 Nov 1994 08:50:37 GMT"
        // This machine runs an hour ahead; the wait is still the minute that the server meant.
        let ahead = Self.now + 3_600_000
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(RetryAfterParser.milliseconds(value, date: date, nowMs: ahead) == 60_000)
        #expect(RetryAfterParser.milliseconds(value, date: nil, nowMs: ahead) == nil)
        #expect(RetryAfterParser.milliseconds(value, date: "yesterday", nowMs: Self.now) == 60_000)
        #expect(RetryAfterParser.milliseconds("7", date: "yesterday", nowMs: Self.now) == 7_000)
    }

    @Test func survivesAnyClock() {
        let value = "Sun, 06 Nov 1994 08:50:37 GMT"
        #expect(RetryAfterParser.milliseconds(value, date: nil, nowMs: .min) == nil)
        #expect(RetryAfterParser.milliseconds(value, date: nil, nowMs: .max) == nil)
        #expect(RetryAfterParser.milliseconds(value, date: nil, nowMs: 0) == RetryAfterParser.maximumMs)
    }

    /// The calendar against Foundation's, at random instants of the years 1970 to 9999.
    @Test func datesAgreeWithFoundation() {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<5_000 {
            let seconds = Int64.random(in: 0...253_402_300_799, using: &generator)
            let text = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
            #expect(HTTPDate.milliseconds(text.utf8) == seconds * 1_000, "\(text)")
        }
    }

    @Test func noHeaderTrapsAndEveryWaitIsInRange() {
        var generator = SeededGenerator(seed: 12)
        let seeds = ["Sun, 06 Nov 1994 08:49:37 GMT", "120", "-1", "1.5", "5, 10", "99999999999999999999"]
        for _ in 0..<20_000 {
            var bytes = Array(seeds[Int.random(in: 0..<seeds.count, using: &generator)].utf8)
            for _ in 0..<Int.random(in: 0...3, using: &generator) where !bytes.isEmpty {
                let at = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: at)
                default: bytes.insert(UInt8.random(in: 0x30...0x39, using: &generator), at: at)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let wait = RetryAfterParser.milliseconds(text, date: text, nowMs: Self.now)
            #expect(wait.map { (1...RetryAfterParser.maximumMs).contains($0) } ?? true, "\(text)")
        }
    }
}
