import FanfareModel
import Testing

@testable import FleetSimulation

/// A project of many workers that ask for anything: single recipients now and then, fan-outs of requests of many in
/// between, permits given back. Counts what it is lent.
struct RandomDemand {
    struct Ask {
        var returned = 0
        var single = 0
        var fanout = 0
        var unit: Int?
        var report: AnswerReport?
    }

    private let quota: Int
    private var dice: Dice
    private let unit: Int
    /// Single recipients that wait, by when they came; requests of many that were begun.
    private var waiting: [Int] = []
    private var asked = Ask()
    private var singlesPerCall = 0.0
    private var lendings: [(ms: Int64, count: Int)] = []
    private var unused = 0
    private(set) var units = 0
    private(set) var longestWaitMs = 0
    /// Counts at most 500 ms of a step: in a longer one no worker asks, and the library can lend nothing.
    private var clockMs = 0
    private var isBusy = true

    init(quota: Int, seed: UInt64) {
        self.quota = quota
        dice = Dice(seed: seed)
        unit = min(1_000, quota / 4)
    }

    mutating func nextStepMs() -> Int64 {
        let step = dice.chance(0.002) ? dice.int(1_000...30_000) : dice.int(5...120)
        clockMs += min(step, 500)
        // A hundredth of the quota wants to go to single recipients: below what is kept for them, at any pace.
        singlesPerCall += Double(quota) / 60_000 * 0.01 * Double(min(step, 500))
        return Int64(step)
    }

    mutating func next() -> Ask {
        if dice.chance(0.005) { isBusy.toggle() }
        while singlesPerCall >= 1 {
            waiting.append(clockMs)
            singlesPerCall -= 1
        }
        asked = Ask(single: waiting.count)
        asked.returned = dice.chance(0.1) ? unused : 0
        unused = 0
        if isBusy {
            asked.fanout = dice.int(1...5_000)
            asked.unit = dice.chance(0.2) ? dice.int(1...unit) : unit
        } else {
            asked.unit = 0
        }
        asked.report = AnswerReport(answers: dice.int(0...20))
        return asked
    }

    mutating func lent(_ permits: Int, nowMs: Int64) {
        let singles = min(permits, waiting.count)
        for came in waiting.prefix(singles) { longestWaitMs = max(longestWaitMs, clockMs - came) }
        waiting.removeFirst(singles)
        if permits - singles > 1, permits - singles >= asked.unit ?? .max { units += 1 }
        // What was given back is not sent.
        var returned = asked.returned
        for at in lendings.indices.reversed() where returned > 0 {
            let count = min(returned, lendings[at].count)
            lendings[at].count -= count
            returned -= count
        }
        if permits > 0 { lendings.append((nowMs, permits)) }
        // A crowd of others holds the rest; this is what the worker could do without.
        unused = permits > singles && dice.chance(0.3) ? permits - singles : 0
    }

    /// Sends may come up to 250 ms after they were lent, so windows of 60.25 s are looked at.
    func judge() {
        var first = 0
        var sum = 0
        var most = 0
        for lending in lendings {
            sum += lending.count
            while lendings[first].ms <= lending.ms - 60_250 {
                sum -= lendings[first].count
                first += 1
            }
            most = max(most, sum)
        }
        #expect(most <= quota, "\(most) within a minute")
        #expect(units > 3, "\(units) requests of many")
        #expect(longestWaitMs < 2_500, "a single recipient waited \(longestWaitMs) ms")
    }
}
