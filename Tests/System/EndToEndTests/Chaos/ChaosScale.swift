import Foundation

/// How large the chaos is: short in every run of the tests, long by `ops/chaos`.
enum ChaosScale {
    private static let environment = ProcessInfo.processInfo.environment

    static let isLong = environment["FANFARE_CHAOS"] == "long"

    /// What the loads, the victims and the moments are drawn from; printed with every figure.
    static let seed: UInt64 = environment["FANFARE_CHAOS_SEED"].flatMap { UInt64($0) } ?? 1

    /// Harms done per scenario. `FANFARE_CHAOS_KILLS` is the long form's number for `kill -9` of workers; the others
    /// take their share of it.
    static func rounds(short: Int, longShare: Double = 1) -> Int {
        guard isLong else { return short }
        let kills = environment["FANFARE_CHAOS_KILLS"].flatMap { Int($0) } ?? 100
        return max(short, Int(Double(kills) * longShare))
    }

    /// How long a load may take to its last result.
    static var patienceSeconds: Double { isLong ? 900 : 180 }
}
