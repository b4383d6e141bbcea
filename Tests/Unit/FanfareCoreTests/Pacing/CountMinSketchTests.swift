import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct CountMinSketchTests {
    private static let second: UInt64 = 1_000_000_000

    private func token(_ number: Int) -> String { "cXyZ\(number):APA91bExampleOfARegistrationToken-\(number &* 7_919)" }

    @Test func countsFromOneAndStopsAt255() {
        var sketch = CountMinSketch()
        for expected in 1...300 { #expect(sketch.count("a", now: 0) == min(255, expected)) }
        #expect(sketch.count("b", now: 0) == 1)
        #expect(sketch.count("", now: 0) == 1)
    }

    @Test func forgetsAfterAMinute() {
        var sketch = CountMinSketch()
        #expect(sketch.count("a", now: 5 * Self.second) == 1)
        #expect(sketch.count("a", now: 64 * Self.second) == 2)
        #expect(sketch.count("a", now: 65 * Self.second) == 1)
        #expect(sketch.count("a", now: 65 * Self.second) == 2)
        // A clock that goes back keeps what was counted.
        #expect(sketch.count("a", now: 0) == 3)
        #expect(sketch.count("a", now: .max) == 1)
    }

    @Test(arguments: 0..<8)
    func neverCountsTooLowAndSeldomTooHigh(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var sketch = CountMinSketch()
        var counts: [Int: Int] = [:]
        var high = 0
        for _ in 0..<60_000 {
            // A few are drawn very often, most once or twice.
            let number =
                Int.random(in: 0..<10, using: &random) == 0
                ? Int.random(in: 0..<40, using: &random) : Int.random(in: 100..<100_000, using: &random)
            counts[number, default: 0] += 1
            let truth = min(255, counts[number] ?? 0)
            let estimate = sketch.count(token(number), now: 0)
            #expect(estimate >= truth)
            if estimate > truth { high += 1 }
        }
        // Were the rows alike, it would be a quarter of them.
        #expect(high < 1_800)
    }

    /// A fan-out at 10,000 a second for a minute, all different: none is taken for a repeated one. Similar tokens must
    /// not share their cells.
    @Test func differentRecipientsAreNotTakenForRepeated() {
        var sketch = CountMinSketch()
        var most = 0
        for number in 0..<600_000 { most = max(most, sketch.count("t\(number)", now: 0)) }
        #expect(most < CountMinSketch.paceFrom / 4)
    }
}

extension CountMinSketch {
    fileprivate mutating func count(_ recipient: String, now: UInt64) -> Int {
        count(hash: ByteHash.of(recipient), now: now)
    }
}
