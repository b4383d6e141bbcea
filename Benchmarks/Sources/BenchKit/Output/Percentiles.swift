/// Waits that were measured one by one.
struct Percentiles: Equatable {
    private let sorted: [Double]

    /// nil without samples.
    init?(_ samples: [Double]) {
        guard !samples.isEmpty else { return nil }
        sorted = samples.sorted()
    }

    /// The smallest sample that so large a share does not exceed; between 0 and 1.
    func at(_ share: Double) -> Double {
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }
}
