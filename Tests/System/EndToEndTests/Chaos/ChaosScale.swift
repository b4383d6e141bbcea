import Foundation

/// The size of the chaos scenarios: short in every run of the tests, long in `ops/chaos`.
enum ChaosScale {
    private static let environment = ProcessInfo.processInfo.environment

    static let isLong = environment["FANFARE_CHAOS"] == "long"

    /// Seed of the loads, victims and times; printed with the figures.
    static let seed: UInt64 = environment["FANFARE_CHAOS_SEED"].flatMap { UInt64($0) } ?? 1

    /// Rounds of a scenario, one disturbance each. In the long form `FANFARE_CHAOS_KILLS` (100) sets the number of
    /// worker kills; other scenarios use `longShare` of it.
    static func rounds(short: Int, longShare: Double = 1) -> Int {
        guard isLong else { return short }
        let kills = environment["FANFARE_CHAOS_KILLS"].flatMap { Int($0) } ?? 100
        return max(short, Int(Double(kills) * longShare))
    }

    /// Limit of the time until the last result of a load.
    static var timeoutSeconds: Double { isLong ? 900 : 180 }
}
