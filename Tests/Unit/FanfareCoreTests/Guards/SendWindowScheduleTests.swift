import FanfareModel
import Testing

@testable import FanfareCore

/// Openings and closings, worked out by hand.
@Suite struct SendWindowScheduleTests {
    /// Moments at which a window opens and closes in turn, written as RFC 3339.
    struct Row: Sendable {
        let window: String
        let zone: ZoneFile
        /// A moment at which the window is closed.
        let from: String
        /// The opening after it, the closing after that, and so on.
        let changes: [String]
    }

    private static let saoPaulo = ZoneFile(
        // Back from -02:00 to -03:00 on 2019-02-17 at 00:00.
        transitions: [(1_541_300_400, 1), (1_550_368_800, 0)],
        offsets: [-10_800, -7_200],
        footer: "<-03>3"
    )
    private static let lordHowe = ZoneFile(footer: "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0")
    /// December 30, 2011 did not exist: from -10:00 to +14:00.
    private static let apia = ZoneFile(
        transitions: [(1_325_239_200, 1)],
        offsets: [-36_000, 50_400],
        footer: "<+14>-14"
    )

    private static let rows: [Row] = [
        // A usual winter day, and one in summer.
        Row(
            window: "09:00-21:00",
            zone: .madrid,
            from: "2026-11-24T22:00:00Z",
            changes: ["2026-11-25T08:00:00Z", "2026-11-25T20:00:00Z", "2026-11-26T08:00:00Z"]
        ),
        Row(
            window: "09:00-21:00",
            zone: .madrid,
            from: "2026-07-01T00:00:00Z",
            changes: ["2026-07-01T07:00:00Z", "2026-07-01T19:00:00Z", "2026-07-02T07:00:00Z"]
        ),
        // Over midnight.
        Row(
            window: "22:00-06:00",
            zone: .madrid,
            from: "2026-11-24T12:00:00Z",
            changes: ["2026-11-24T21:00:00Z", "2026-11-25T05:00:00Z", "2026-11-25T21:00:00Z"]
        ),
        Row(
            window: "09:00-24:00",
            zone: .madrid,
            from: "2026-11-24T07:00:00Z",
            changes: ["2026-11-24T08:00:00Z", "2026-11-24T23:00:00Z", "2026-11-25T08:00:00Z"]
        ),
        // Spring: 02:00 becomes 03:00 on March 29, at 01:00 UTC.
        Row(
            window: "09:00-21:00",
            zone: .madrid,
            from: "2026-03-28T20:00:00Z",
            changes: ["2026-03-29T07:00:00Z", "2026-03-29T19:00:00Z", "2026-03-30T07:00:00Z"]
        ),
        Row(
            window: "02:30-05:00",
            zone: .madrid,
            from: "2026-03-29T00:00:00Z",
            changes: ["2026-03-29T01:00:00Z", "2026-03-29T03:00:00Z", "2026-03-30T00:30:00Z"]
        ),
        Row(
            window: "01:00-02:30",
            zone: .madrid,
            from: "2026-03-28T23:00:00Z",
            changes: ["2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T23:00:00Z"]
        ),
        Row(
            window: "02:10-02:50",
            zone: .madrid,
            from: "2026-03-28T12:00:00Z",
            changes: ["2026-03-30T00:10:00Z", "2026-03-30T00:50:00Z", "2026-03-31T00:10:00Z"]
        ),
        Row(
            window: "02:00-03:00",
            zone: .madrid,
            from: "2026-03-28T12:00:00Z",
            changes: ["2026-03-30T00:00:00Z", "2026-03-30T01:00:00Z", "2026-03-31T00:00:00Z"]
        ),
        // The window is closed from 02:00 to 03:00. On March 29 that hour is skipped, and the window stays open.
        Row(
            window: "03:00-02:00",
            zone: .madrid,
            from: "2026-03-28T01:30:00Z",
            changes: ["2026-03-28T02:00:00Z", "2026-03-30T00:00:00Z", "2026-03-30T01:00:00Z"]
        ),
        // Autumn: 03:00 becomes 02:00 on October 25, at 01:00 UTC.
        Row(
            window: "09:00-21:00",
            zone: .madrid,
            from: "2026-10-24T20:00:00Z",
            changes: ["2026-10-25T08:00:00Z", "2026-10-25T20:00:00Z", "2026-10-26T08:00:00Z"]
        ),
        Row(
            window: "02:30-05:00",
            zone: .madrid,
            from: "2026-10-25T00:00:00Z",
            changes: ["2026-10-25T00:30:00Z", "2026-10-25T04:00:00Z", "2026-10-26T01:30:00Z"]
        ),
        Row(
            window: "01:00-02:30",
            zone: .madrid,
            from: "2026-10-24T22:00:00Z",
            changes: ["2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z", "2026-10-26T00:00:00Z"]
        ),
        Row(
            window: "02:10-02:50",
            zone: .madrid,
            from: "2026-10-24T22:00:00Z",
            changes: ["2026-10-25T00:10:00Z", "2026-10-25T00:50:00Z", "2026-10-26T01:10:00Z"]
        ),
        // 03:00 comes once, after both hours from 02:00.
        Row(
            window: "02:00-03:00",
            zone: .madrid,
            from: "2026-10-24T22:00:00Z",
            changes: ["2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z", "2026-10-26T01:00:00Z"]
        ),
        Row(
            window: "22:00-02:30",
            zone: .madrid,
            from: "2026-10-24T12:00:00Z",
            changes: ["2026-10-24T20:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T21:00:00Z"]
        ),
        // The hour before midnight comes twice in Brazil.
        Row(
            window: "23:30-00:30",
            zone: saoPaulo,
            from: "2019-02-16T12:00:00Z",
            changes: ["2019-02-17T01:30:00Z", "2019-02-17T03:30:00Z", "2019-02-18T02:30:00Z"]
        ),
        Row(
            window: "22:00-23:30",
            zone: saoPaulo,
            from: "2019-02-16T12:00:00Z",
            changes: ["2019-02-17T00:00:00Z", "2019-02-17T01:30:00Z", "2019-02-18T01:00:00Z"]
        ),
        // Half an hour on Lord Howe: 02:00 becomes 02:30 at 15:30 UTC, and in April 02:00 becomes 01:30 at 15:00 UTC.
        Row(
            window: "02:15-04:00",
            zone: lordHowe,
            from: "2026-10-03T12:00:00Z",
            changes: ["2026-10-03T15:30:00Z", "2026-10-03T17:00:00Z", "2026-10-04T15:15:00Z"]
        ),
        Row(
            window: "01:45-04:00",
            zone: lordHowe,
            from: "2026-04-04T12:00:00Z",
            changes: ["2026-04-04T14:45:00Z", "2026-04-04T17:30:00Z", "2026-04-05T15:15:00Z"]
        ),
        // A day that is skipped has no window, and one over its midnights is not interrupted.
        Row(
            window: "09:00-21:00",
            zone: apia,
            from: "2011-12-29T12:00:00Z",
            changes: ["2011-12-29T19:00:00Z", "2011-12-30T07:00:00Z", "2011-12-30T19:00:00Z"]
        ),
        Row(
            window: "21:00-09:00",
            zone: apia,
            from: "2011-12-30T00:00:00Z",
            changes: ["2011-12-30T07:00:00Z", "2011-12-30T19:00:00Z", "2011-12-31T07:00:00Z"]
        ),
    ]

    private static func ms(_ text: String) throws -> Int64 { try #require(Timestamp.milliseconds(rfc3339: text)) }

    @Test(arguments: rows)
    func windowOpensAndCloses(row: Row) throws {
        let window = try SendWindow(Array("\(row.window) Test".utf8))
        let rules = try ZoneRules(bytes: row.zone.bytes)
        var (time, isOpen) = (try Self.ms(row.from), false)
        #expect(window.isOpen(at: time, in: rules) == false)
        for change in row.changes {
            let next = isOpen ? window.nextClosing(after: time, in: rules) : window.nextOpening(after: time, in: rules)
            #expect(CalendarTime(unixMs: next).rfc3339 == CalendarTime(unixMs: try Self.ms(change)).rfc3339)
            #expect(window.isOpen(at: next - 1, in: rules) == isOpen)
            #expect(window.isOpen(at: next, in: rules) == !isOpen)
            (time, isOpen) = (next, !isOpen)
        }
    }

    /// From +24:00 to -24:00 on June 10 at 06:00 UTC: the clock goes back from 06:00 on June 11 to 06:00 on June 9.
    @Test func openWindowStaysOpenWhileTheClockRepeatsDays() throws {
        let window = try SendWindow(Array("05:00-07:00 Test".utf8))
        let file = ZoneFile(transitions: [(1_781_071_200, 1)], offsets: [86_400, -86_400])
        let rules = try ZoneRules(bytes: file.bytes)
        let (opening, closing) = (try Self.ms("2026-06-10T05:00:00Z"), try Self.ms("2026-06-12T07:00:00Z"))
        for moment in stride(from: opening, to: closing, by: 3_600_000) {
            #expect(window.isOpen(at: moment, in: rules))
            #expect(window.nextClosing(after: moment, in: rules) == closing)
        }
        #expect(window.nextOpening(after: opening, in: rules) == (try Self.ms("2026-06-13T05:00:00Z")))
    }

    @Test func nextChangeIsAfterTheMoment() throws {
        let window = try SendWindow(Array("09:00-21:00 Test".utf8))
        let rules = try ZoneRules(bytes: ZoneFile.madrid.bytes)
        let opening = try Self.ms("2026-11-25T08:00:00Z")
        #expect(window.nextOpening(after: opening - 1, in: rules) == opening)
        #expect(window.nextOpening(after: opening, in: rules) == opening + 86_400_000)
        let closing = try Self.ms("2026-11-25T20:00:00Z")
        #expect(window.nextClosing(after: closing - 1, in: rules) == closing)
        #expect(window.nextClosing(after: closing, in: rules) == closing + 86_400_000)
    }

    @Test(arguments: [Int64.min, -1, 0, 253_402_300_799_999, .max])
    func momentOutsideTheCalendarCountsAsTheNearest(unixMs: Int64) throws {
        let window = try SendWindow(Array("09:00-21:00 Test".utf8))
        let rules = try ZoneRules(bytes: ZoneFile.madrid.bytes)
        let nearest = min(max(unixMs, 0), GeneralFields.latestTime)
        #expect(window.isOpen(at: unixMs, in: rules) == window.isOpen(at: nearest, in: rules))
        #expect(window.nextOpening(after: unixMs, in: rules) == window.nextOpening(after: nearest, in: rules))
        #expect(window.nextOpening(after: nearest, in: rules) > nearest)
    }

    /// The definition, minute by minute: each day's window begins and ends when a clock that shows the time, or a later
    /// one, is seen for the first time.
    @Test(arguments: 0..<80)
    func scheduleFollowsItsDefinition(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let quarter: Int64 = 900
        let base: Int64 = 1_700_006_400
        // Up to three changes of up to 49 hours, some of them on the same day.
        let limit: Int64 = seed % 3 == 0 ? 99 : 8
        let offsets = (0..<4).map { _ in Int32(Int64.random(in: -limit...limit, using: &random) * quarter) }
        let times = Set((0..<3).map { _ in base + Int64.random(in: 0...480, using: &random) * quarter }).sorted()
        let file = ZoneFile(transitions: times.enumerated().map { ($1, UInt8($0 + 1)) }, offsets: offsets)
        let rules = try ZoneRules(bytes: file.bytes)
        let opens = Int64.random(in: 0..<96, using: &random)
        let closes = (opens + Int64.random(in: 1...95, using: &random)) % 96
        func clock(_ quarters: Int64) -> String {
            "\(quarters / 40)\(quarters / 4 % 10):\(["00", "15", "30", "45"][Int(quarters % 4)])"
        }
        let window = try SendWindow(Array("\(clock(opens))-\(clock(closes)) Test".utf8))

        let moments = Array(stride(from: base - 5 * 86_400, through: base + 11 * 86_400, by: Int(quarter)))
        var openings: [(start: Int64, end: Int64)] = []
        for day in (base / 86_400 - 4)...(base / 86_400 + 9) {
            func first(_ quarters: Int64) -> Int64? {
                moments.first { $0 + Int64(rules.offsetSeconds(at: $0)) >= day * 86_400 + quarters * quarter }
            }
            if let start = first(opens), let end = first(closes > opens ? closes : closes + 96) {
                openings.append((start, end))
            }
        }
        func isOpen(_ moment: Int64) -> Bool { openings.contains { $0.start <= moment && moment < $0.end } }
        let checked = moments.filter { (base - 2 * 86_400)...(base + 6 * 86_400) ~= $0 }
        for moment in checked {
            #expect(window.isOpen(at: moment * 1_000, in: rules) == isOpen(moment))
            guard moment % (7 * quarter) == 0 || times.contains(moment) else { continue }
            let later = moments.filter { $0 > moment }
            let opening = later.first { isOpen($0) && !isOpen($0 - quarter) }
            let closing = later.first { !isOpen($0) && isOpen($0 - quarter) }
            #expect(window.nextOpening(after: moment * 1_000, in: rules) == opening.map { $0 * 1_000 })
            #expect(window.nextClosing(after: moment * 1_000, in: rules) == closing.map { $0 * 1_000 })
        }
    }
}
