internal import Synchronization

/// Runs of many seeds on several threads; the runs are independent.
public enum SeedRun {
    public struct Failure: Sendable {
        public var seed: UInt64
        public var violation: String
    }

    public struct Sum: Sendable {
        public var tally = Tally()
        public var failures: [Failure] = []
        public var runs = 0

        public var text: String {
            "\(runs) runs, \(tally.time / 60_000_000) virtual minutes, \(tally.events) events: \(tally.sends) sends, "
                + "\(tally.repeats) flagged repeats, \(tally.explained) explained by a rollback, \(tally.results) results, "
                + "\(tally.failedCalls) failed record calls, \(tally.repeatedEntries) results repeated by them, "
                + "\(tally.crashes) crashes, \(tally.freezes) freezes between actions, \(tally.declaredDead) declared dead, \(tally.activations) turns, "
                + "\(tally.preemptions) preempted, \(tally.parked) parked, \(tally.holds) holds, "
                + "\(tally.rollbacks) rollbacks, \(tally.stops) stopped by a condition, \(tally.canaries) canaries, "
                + "\(tally.yields) slots given up for a rate, "
                + "\(tally.late) attempts late for it, slowest calm hand-over \(tally.slowestHandOver / 1_000) ms"
        }
    }

    private final class Shared: Sendable {
        let next = Atomic(0)
        let sum = Mutex(Sum())
    }

    public static func run(
        _ seeds: [UInt64],
        isLarge: Bool = false,
        mutation: Mutation? = nil,
        threads: Int = 1,
        trace: ((String) -> Void)? = nil
    ) -> Sum {
        let shared = Shared()
        if threads <= 1 {
            for seed in seeds { add(seed, isLarge, mutation, shared, trace) }
        } else {
            Workers.run(threads) {
                while true {
                    let at = shared.next.wrappingAdd(1, ordering: .relaxed).oldValue
                    guard at < seeds.count else { return }
                    add(seeds[at], isLarge, mutation, shared, nil)
                }
            }
        }
        return shared.sum.withLock {
            $0.failures.sort { $0.seed < $1.seed }
            return $0
        }
    }

    private static func add(
        _ seed: UInt64,
        _ isLarge: Bool,
        _ mutation: Mutation?,
        _ shared: Shared,
        _ trace: ((String) -> Void)?
    ) {
        let (violation, tally) = Simulation(seed: seed, isLarge: isLarge, mutation: mutation, trace: trace).run()
        shared.sum.withLock {
            $0.runs += 1
            $0.tally.add(tally)
            if let violation { $0.failures.append(Failure(seed: seed, violation: violation)) }
        }
    }
}

extension Tally {
    private static var sums: [WritableKeyPath<Tally, Int>] {
        [
            \.sends, \.repeats, \.explained, \.results, \.failedCalls, \.repeatedEntries, \.crashes, \.freezes,
            \.declaredDead, \.activations, \.preemptions, \.parked, \.holds, \.rollbacks, \.stops, \.canaries, \.yields,
            \.late, \.events, \.time,
        ]
    }

    mutating func add(_ other: Tally) {
        for sum in Self.sums { self[keyPath: sum] += other[keyPath: sum] }
        slowestHandOver = max(slowestHandOver, other.slowestHandOver)
    }
}
