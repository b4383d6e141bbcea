import FanfareModel
import Foundation
import Testing

@Suite struct RetryAfterTests {
    static let now: Int64 = 784_111_777_000  // Sun, 06 Nov 1994 08:49:37 GMT

    private static func read(_ value: String?, date: String? = nil, now: Int64 = now) -> RetryAfter {
        RetryAfterParser.read(value, date: date, nowMs: now)
    }

    @Test(
        arguments: [
            ("1", 1_000), ("5", 5_000), (" 120\t", 120_000), ("0012", 12_000), ("21600", 21_600_000),
            ("21601", 21_600_000), ("100000000000000", 21_600_000), ("9223372036854775807", 21_600_000),
            ("9223372036854775808", 21_600_000), ("99999999999999999999999999", 21_600_000),
            // Fractions are rounded up, quotes are dropped.
            ("1.5", 2_000), ("1.0", 1_000), ("0.001", 1_000), ("21600.5", 21_600_000), ("\"120\"", 120_000),
            ("Sun, 06 Nov 1994 08:50:37 GMT", 60_000), ("Mon, 07 Nov 1994 08:49:37 GMT", 21_600_000),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 21_600_000), ("\"Sun, 06 Nov 1994 08:50:37 GMT\"", 60_000),
            ("Sunday, 06-Nov-94 08:50:37 GMT", 60_000), ("Wednesday, 09-Nov-94 08:49:37 GMT", 21_600_000),
            ("Sun Nov  6 08:50:37 1994", 60_000), ("Sun Nov 06 08:50:37 1994", 60_000),
            // Headers that were repeated, or joined by a proxy: the longest counts.
            ("5, 10", 10_000), ("10,5", 10_000), (" 5 ,, 10 ,", 10_000), ("0, 7", 7_000), ("\"5\", \"7\"", 7_000),
            ("Sun, 06 Nov 1994 08:50:37 GMT, Sun, 06 Nov 1994 08:51:37 GMT", 120_000),
            ("30, Sunday, 06-Nov-94 08:50:37 GMT, Sun Nov  6 08:49:47 1994", 60_000),
        ] as [(String, Int64)]
    )
    func readableWaitCounts(value: String, expected: Int64) {
        #expect(Self.read(value) == .wait(ms: expected))
    }

    @Test(
        arguments: [
            nil, "0", "000", "0.0", "0, 0", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:36 GMT",
            "Thu, 01 Jan 1970 00:00:00 GMT", "Sunday, 06-Nov-44 08:49:37 GMT,Sunday, 06-Nov-45 08:49:37 GMT",
        ] as [String?]
    )
    func zeroAndThePastAskForNoWait(value: String?) {
        // 2044 is 50 years ahead, 2045 is 1945.
        let isAhead = value?.contains("-44") == true
        #expect(Self.read(value) == (isAhead ? .wait(ms: RetryAfterParser.maximumMs) : RetryAfter.none))
    }

    @Test(arguments: [
        "", " ", ",", "-1", "-5", "+5", "5.", ".5", "1.2.3", "5s", "5 10", "soon", "1e3", "0x10", "٣", "5\"", "\"",
        "1994-11-06T08:50:37Z", "Sun, 06 Nov 1995 08:49:37 UTC", "Sun, 06 Nov 1995 08:49:37 +0000",
        "Sun, 6 Nov 1995 08:49:37 GMT", "Sun, 31 Feb 1995 08:49:37 GMT", "Sun, 29 Feb 1995 08:49:37 GMT",
        "Sun, 00 Nov 1995 08:49:37 GMT", "Sun, 06 Nov 1995 24:00:00 GMT", "Sun, 06 Nov 1995 08:60:00 GMT",
        "Sun, 06 Nov 1995 08:49:61 GMT", "Sun, 06 nov 1995 08:49:37 GMT", "Xyz, 06 Nov 1995 08:49:37 GMT",
        "Sun, 06-Nov-95 08:49:37 GMT", "Sunday, 06 Nov 1995 08:49:37 GMT", "Sun Nov 31 08:49:37 1995", "Sun", "Sun, 5",
        "5, soon", "soon, 5", "Sunday, 31-Feb-95 08:49:37 GMT",
    ])
    func whatCannotBeReadWaitsAMinute(value: String) {
        #expect(Self.read(value) == .unreadable(ms: 60_000))
    }

    @Test func unreadablePartDoesNotShortenALongerWait() {
        #expect(Self.read("600, soon") == .unreadable(ms: 600_000))
        #expect(Self.read(String(repeating: "9,", count: 2_000)) == .unreadable(ms: 60_000))
    }

    @Test(
        arguments: [
            ("3s", .wait(ms: 3_000)), ("3.000000001s", .wait(ms: 4_000)), ("0s", .none), ("0.5s", .wait(ms: 1_000)),
            ("315576000000s", .wait(ms: 21_600_000)), ("", .unreadable(ms: 60_000)), ("3", .unreadable(ms: 60_000)),
            ("-3s", .unreadable(ms: 60_000)), ("s", .unreadable(ms: 60_000)), ("soons", .unreadable(ms: 60_000)),
        ] as [(String, RetryAfter)]
    )
    func durationIsReadAsProtobufWritesIt(text: String, expected: RetryAfter) {
        #expect(RetryAfterParser.read(duration: text) == expected)
    }

    @Test func measuresAgainstTheServersOwnClock() {
        let value = "Sun, 06 Nov 1994 08:50:37 GMT"
        // This machine runs an hour ahead; the wait is still the minute that the server meant.
        let ahead = Self.now + 3_600_000
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(Self.read(value, date: date, now: ahead) == .wait(ms: 60_000))
        #expect(Self.read(value, now: ahead) == RetryAfter.none)
        for form in [
            "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:50:00 GMT, \(date)",
        ] {
            #expect(Self.read(value, date: form, now: ahead) == .wait(ms: 60_000), "\(form)")
        }
        // Its clock cannot be read, and this machine's may be wrong.
        #expect(Self.read(value, date: "yesterday") == .unreadable(ms: 60_000))
        #expect(Self.read(value, date: "yesterday", now: ahead) == .unreadable(ms: 60_000))
        #expect(Self.read("Sun, 06 Nov 1994 09:49:37 GMT", date: "") == .unreadable(ms: 3_600_000))
        #expect(Self.read("7", date: "yesterday") == .wait(ms: 7_000))
        // One of several dates that cannot be read may be the earliest.
        #expect(Self.read(value, date: "\(date), yesterday", now: ahead) == .unreadable(ms: 60_000))
    }

    @Test func survivesAnyClock() {
        let value = "Sun, 06 Nov 1994 08:50:37 GMT"
        #expect(Self.read(value, now: .min) == .wait(ms: RetryAfterParser.maximumMs))
        #expect(Self.read(value, now: .max) == RetryAfter.none)
        #expect(Self.read(value, now: 0) == .wait(ms: RetryAfterParser.maximumMs))
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
        let seeds = [
            "Sun, 06 Nov 1994 08:49:37 GMT", "120", "-1", "1.5", "5, 10", "99999999999999999999",
            "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ]
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
            let wait = Self.read(text, date: text)
            #expect(wait.leastMs.map { (1...RetryAfterParser.maximumMs).contains($0) } ?? true, "\(text)")
        }
    }
}
