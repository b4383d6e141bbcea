/// The samples of one measure, and what is said of them.
struct Statistics: Codable, Equatable {
    let median: Double
    let min: Double
    let max: Double
    let count: Int
    /// In the order of the runs.
    let samples: [Double]

    /// nil without samples.
    init?(_ samples: [Double]) {
        let sorted = samples.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        let middle = sorted.count / 2
        median = sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        min = first
        max = last
        count = sorted.count
        self.samples = samples
    }
}

/// Two things measured in turns in the same run. The samples are the quotients round by round, so that what the
/// machine did meanwhile falls on both sides.
struct Ratio: Codable, Equatable {
    let name: String
    let numerator: String
    let denominator: String
    let measure: String
    let numeratorMedian: Double
    let denominatorMedian: Double
    let ofMedians: Double
    let byRound: Statistics

    init?(
        _ measure: Measure,
        of numerator: String,
        to denominator: String,
        in runs: [String: [RunSample]]
    ) {
        let above = (runs[numerator] ?? []).compactMap(measure.value)
        let below = (runs[denominator] ?? []).compactMap(measure.value)
        guard above.count == below.count, let over = Statistics(above), let under = Statistics(below), under.min > 0,
            let byRound = Statistics(zip(above, below).map { $0 / $1 })
        else { return nil }
        name = "\(numerator)/\(denominator) \(measure.name)"
        self.numerator = numerator
        self.denominator = denominator
        self.measure = measure.name
        numeratorMedian = over.median
        denominatorMedian = under.median
        ofMedians = over.median / under.median
        self.byRound = byRound
    }
}
