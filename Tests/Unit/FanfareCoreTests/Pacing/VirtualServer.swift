@testable import FanfareCore

/// A server with a knee and a worker that keeps as many sends in flight as its limit allows, in virtual time of 1 ms.
/// Up to `capacity` answers a second take `latencyMs`; what is sent beyond that waits in a queue.
struct VirtualServer {
    struct Condition {
        var capacity: Double
        var latencyMs: Double
        /// Answers at once that it is too busy.
        var isFailing = false

        /// Sends in flight that just use the capacity.
        var knee: Double { capacity * latencyMs / 1_000 }
    }

    private struct Answer {
        var sentAt: Int
        var isOverload: Bool
    }

    private(set) var limit: ConcurrencyLimit
    private(set) var inFlight = 0
    private(set) var now = 0
    private var answers: [Int: [Answer]] = [:]
    /// When the queue will be empty, in milliseconds.
    private var busyUntil = 0.0
    private var random: SeededGenerator

    init(limit: ConcurrencyLimit, seed: UInt64) {
        self.limit = limit
        random = SeededGenerator(seed: seed)
    }

    /// - Parameter demand: the most sends that there is work for.
    /// - Returns: the mean limit, and good answers a second.
    mutating func run(seconds: Int, _ condition: Condition, demand: Int = .max) -> (limit: Double, rate: Double) {
        var sum = 0
        var good = 0
        for _ in 0..<seconds * 1_000 {
            now += 1
            for answer in answers.removeValue(forKey: now) ?? [] {
                limit.answered(
                    latencyNs: UInt64(now - answer.sentAt) * 1_000_000,
                    inFlight: inFlight,
                    now: UInt64(now) * 1_000_000,
                    isOverload: answer.isOverload
                )
                inFlight -= 1
                good += answer.isOverload ? 0 : 1
            }
            while inFlight < min(limit.limit, demand) { send(condition) }
            sum += limit.limit
        }
        return (Double(sum) / Double(seconds * 1_000), Double(good) / Double(seconds))
    }

    private mutating func send(_ condition: Condition) {
        inFlight += 1
        if condition.isFailing {
            let due = now + Int.random(in: 5...20, using: &random)
            answers[due, default: []].append(Answer(sentAt: now, isOverload: true))
            return
        }
        busyUntil = max(busyUntil, Double(now)) + 1_000 / condition.capacity
        let spread = Double.random(in: 0.8...1.2, using: &random)
        let due = Int(busyUntil + condition.latencyMs * spread)
        answers[max(now + 1, due), default: []].append(Answer(sentAt: now, isOverload: false))
    }
}
