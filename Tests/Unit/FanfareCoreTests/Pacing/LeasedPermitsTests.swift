import FanfareCore
import Testing

@Suite struct LeasedPermitsTests {
    private static let ms: UInt64 = 1_000_000

    @Test func spendsWhatWasLentAndNoMore() {
        var permits = LeasedPermits()
        #expect(permits.spend(1, now: 0) == false)
        permits.lent(3, at: 0)
        #expect(permits.spend(2, now: 0) == true)
        #expect(permits.spend(2, now: 0) == false)
        #expect(permits.available(now: 0) == 1)
        #expect(permits.spend(1, now: 0) == true)
        #expect(permits.spend(1, now: 0) == false)
        #expect(permits.lapsed == 0)
    }

    @Test(arguments: [(0, true), (249, true), (250, false), (251, false), (60_000, false)])
    func aPermitIsGoodForAQuarterOfASecond(afterMs: UInt64, isGood: Bool) {
        var permits = LeasedPermits()
        permits.lent(1, at: 7_000 * Self.ms)
        let now = (7_000 + afterMs) * Self.ms
        #expect(permits.available(now: now) == (isGood ? 1 : 0))
        #expect(permits.spend(1, now: now) == isGood)
        #expect(permits.lapsed == (isGood ? 0 : 1))
    }

    @Test func anAnswerThatCameTooLateLendsNothing() {
        var permits = LeasedPermits()
        permits.lent(100, at: 0)
        #expect(permits.giveBack(keep: 0, now: 300 * Self.ms) == 0)
        #expect(permits.lapsed == 100)
    }

    @Test func givesBackWhatEndsFirst() {
        var permits = LeasedPermits()
        permits.lent(10, at: 0)
        permits.lent(10, at: 100 * Self.ms)
        #expect(permits.giveBack(keep: 10, now: 200 * Self.ms) == 10)
        #expect(permits.available(now: 300 * Self.ms) == 10)
        #expect(permits.giveBack(keep: 20, now: 300 * Self.ms) == 0)
        #expect(permits.giveBack(keep: -1, now: 300 * Self.ms) == 10)
    }

    @Test func answersOutOfOrderAreSpentInTheOrderTheyEnd() {
        var permits = LeasedPermits()
        permits.lent(5, at: 100 * Self.ms)
        permits.lent(5, at: 0)
        #expect(permits.spend(5, now: 200 * Self.ms) == true)
        #expect(permits.available(now: 260 * Self.ms) == 5)
    }

    @Test func countsThatMakeNoSenseChangeNothing() {
        var permits = LeasedPermits()
        permits.lent(-5, at: 0)
        permits.lent(0, at: 0)
        #expect(permits.available(now: 0) == 0)
        #expect(permits.spend(0, now: 0) == true)
        #expect(permits.spend(-1, now: 0) == true)
        permits.lent(.max, at: .max)
        permits.lent(.max, at: .max)
        permits.lent(.max, at: .max - 1)
        #expect(permits.available(now: 0) == .max)
        #expect(permits.spend(.max, now: 0) == true)
    }

    /// The same permits kept naively: every permit with its own end.
    private struct Model {
        var ends: [UInt64] = []
        var lapsed = 0

        mutating func lapse(_ now: UInt64) {
            lapsed += ends.count { $0 <= now }
            ends.removeAll { $0 <= now }
        }

        mutating func remove(_ count: Int) { ends.removeFirst(count) }
    }

    @Test(arguments: 0..<200)
    func neverSpendsALapsedPermitAndAccountsForEveryOne(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var permits = LeasedPermits()
        var model = Model()
        var now: UInt64 = 0
        var (lent, taken, back) = (0, 0, 0)
        for _ in 0..<500 {
            now += UInt64.random(in: 0...60, using: &random) * Self.ms
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let count = Int.random(in: 0...50, using: &random)
                let at = now.subtractingReportingOverflow(UInt64.random(in: 0...80, using: &random) * Self.ms)
                guard !at.overflow else { continue }
                permits.lent(count, at: at.partialValue)
                model.ends += Array(repeating: at.partialValue + LeasedPermits.lifetimeNs, count: count)
                model.ends.sort()
                lent += count
            case 1, 2:
                let count = Int.random(in: 0...40, using: &random)
                model.lapse(now)
                let granted = permits.spend(count, now: now)
                #expect(granted == (model.ends.count >= count))
                if granted {
                    model.remove(count)
                    taken += count
                }
            default:
                let keep = Int.random(in: 0...40, using: &random)
                model.lapse(now)
                let surplus = max(0, model.ends.count - keep)
                #expect(permits.giveBack(keep: keep, now: now) == surplus)
                model.remove(surplus)
                back += surplus
            }
            model.lapse(now)
            #expect(permits.available(now: now) == model.ends.count)
        }
        _ = permits.giveBack(keep: .max, now: now)
        #expect(permits.lapsed == model.lapsed)
        #expect(lent == taken + permits.lapsed + back + permits.available(now: now))
    }

    /// However many calls are answered, the permits stays small, and joining blocks never makes a permit last longer.
    @Test func manyBlocksAreJoinedWithoutLastingLonger() {
        var permits = LeasedPermits()
        for index in 0..<1_000 { permits.lent(1, at: UInt64(index) * 1_000) }
        #expect(permits.available(now: 0) == 1_000)
        #expect(permits.available(now: LeasedPermits.lifetimeNs + 999_000) == 0)
        #expect(permits.available(now: LeasedPermits.lifetimeNs + 15_000) == 0)
    }
}
