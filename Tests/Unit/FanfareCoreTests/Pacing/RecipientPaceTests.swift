import FanfareCore
import Testing

@Suite struct RecipientPaceTests {
    @Test func spacesSendsEvenly() {
        var pace = RecipientPace()
        #expect(pace.take(nowMs: 1_000) == 0)
        #expect(pace.take(nowMs: 1_000) == 250)
        #expect(pace.take(nowMs: 1_249) == 1)
        #expect(pace.take(nowMs: 1_250) == 0)
        #expect(pace.take(nowMs: 1_250) == 250)
    }

    @Test func holdsAnHourToItsLimit() {
        var pace = RecipientPace()
        var now: Int64 = 77
        for _ in 0..<5_000 {
            #expect(pace.take(nowMs: now) == 0)
            now += 250
        }
        #expect(pace.take(nowMs: now) == 77 + 3_600_000 - now)
        #expect(pace.take(nowMs: 77 + 3_599_999) == 1)
        #expect(pace.take(nowMs: 77 + 3_600_000) == 0)
        #expect(pace.take(nowMs: 77 + 3_600_250) == 0)
    }

    @Test(arguments: [(-1, 0), (0, 0), (1, 250), (120, 30_000), (240, 60_000), (Int.max, 60_000)] as [(Int, Int64)])
    func whatWasSentUnpacedIsWaitedFor(alreadySent: Int, wait: Int64) {
        var pace = RecipientPace(alreadySent: alreadySent, nowMs: 5)
        if alreadySent < 5_000 {
            #expect(pace.take(nowMs: 5) == wait)
        } else {
            #expect(pace.take(nowMs: 5) == 3_600_000)
        }
    }

    @Test(arguments: [(Int64.min, Int64.max), (.max, .min), (7_200_000, 0), (0, -3_600_000)])
    func aClockThatIsSetStopsNothingForLong(before: Int64, after: Int64) {
        var pace = RecipientPace()
        #expect(pace.take(nowMs: before) == 0)
        let wait = pace.take(nowMs: after)
        #expect((0...60_000).contains(wait))
        let (later, overflow) = after.addingReportingOverflow(wait)
        #expect(overflow || pace.take(nowMs: later) == 0)
    }

    @Test(arguments: 0..<100)
    func noMinuteAndNoHourHasMoreThanItMay(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var pace = RecipientPace()
        var now = Int64.random(in: 0...2_000_000_000_000, using: &random)
        let first = now
        var sent: [Int64] = []
        while now < first + 2 * 3_600_000 {
            let wait = pace.take(nowMs: now)
            if wait == 0 {
                sent.append(now)
            } else if Bool.random(using: &random) {
                // Waiting as told is always enough.
                now += wait
                #expect(pace.take(nowMs: now) == 0)
                sent.append(now)
            }
            now += Int64.random(in: 0...([10, 400, 5_000].randomElement(using: &random) ?? 10), using: &random)
        }
        for index in sent.indices.dropFirst(240) { #expect(sent[index] - sent[index - 240] >= 60_000) }
        var hourStart = first
        var inHour = 0
        for time in sent {
            if time >= hourStart + 3_600_000 { (hourStart, inHour) = (time, 0) }
            inHour += 1
            #expect(inHour <= 5_000)
        }
    }
}
