import FanfareModel
import Testing

@testable import FleetSimulation

/// Random demand of a project's workers: single recipients, multicasts of fan-outs, and returned permits. Counts the
/// permits lent.
struct RandomDemand {
    struct Request {
        var returned = 0
        var single = 0
        var fanout = 0
        var unit: Int?
        var isSmall = false
        var report: AnswerReport?
    }

    private let quota: Int
    private var dice: Dice
    private let unit: Int
    /// Arrival times of the waiting single recipients.
    private var waiting: [Int] = []
    private var request = Request()
    private var singlesPerCall = 0.0
    private var lendings: [(ms: Int64, count: Int)] = []
    private var unused = 0
    private(set) var units = 0
    private(set) var longestWaitMs = 0
    /// Time in which waits are measured. Counts at most 500 ms of a step, because no worker claims during a longer one.
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
        // Single recipients use a hundredth of the quota, less than the share reserved for them.
        singlesPerCall += Double(quota) / 60_000 * 0.01 * Double(min(step, 500))
        return Int64(step)
    }

    mutating func next() -> Request {
        if dice.chance(0.005) { isBusy.toggle() }
        while singlesPerCall >= 1 {
            waiting.append(clockMs)
            singlesPerCall -= 1
        }
        request = Request(single: waiting.count)
        request.returned = dice.chance(0.1) ? unused : 0
        unused = 0
        if isBusy {
            request.fanout = dice.int(1...5_000)
            request.unit = dice.chance(0.2) ? dice.int(1...unit) : unit
            request.isSmall = dice.chance(0.2)
        } else {
            request.unit = 0
        }
        request.report = AnswerReport(answers: dice.int(0...20))
        return request
    }

    mutating func lent(_ permits: Int, nowMs: Int64) {
        let singles = min(permits, waiting.count)
        for came in waiting.prefix(singles) { longestWaitMs = max(longestWaitMs, clockMs - came) }
        waiting.removeFirst(singles)
        if permits - singles > 1, permits - singles >= request.unit ?? .max { units += 1 }
        // Returned permits cause no sends.
        var returned = request.returned
        for at in lendings.indices.reversed() where returned > 0 {
            let count = min(returned, lendings[at].count)
            lendings[at].count -= count
            returned -= count
        }
        if permits > 0 { lendings.append((nowMs, permits)) }
        // Permits that the worker does not use and may return later.
        unused = permits > singles && dice.chance(0.3) ? permits - singles : 0
    }

    /// Checks the quota and the waits. Sends may follow their permits by up to 250 ms, so the windows have 60.25 s.
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
        #expect(units > 3, "\(units) multicasts")
        #expect(longestWaitMs < 2_500, "a single recipient waited \(longestWaitMs) ms")
    }
}
