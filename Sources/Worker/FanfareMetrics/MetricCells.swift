internal import Synchronization

/// A number that only grows. Any thread may add and read; nothing is locked or allocated.
public final class CounterCell: Sendable {
    private let count = Atomic<Int>(0)

    public init() {}

    public func add(_ amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

    public var value: Int { count.load(ordering: .relaxed) }

    /// For counters whose owner may set them back; a scraper takes it for a restart.
    func reset() { count.store(0, ordering: .relaxed) }
}

/// A number that is set. Any thread may set and read it; also holds a counter whose total is kept elsewhere.
public final class GaugeCell: Sendable {
    private let bits = Atomic<UInt64>(0)

    public init() {}

    public func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }
    public func set(_ value: Int) { set(Double(value)) }
    public func set(_ value: Bool) { set(value ? 1.0 : 0.0) }

    public func add(_ amount: Double) {
        var seen = bits.load(ordering: .relaxed)
        while true {
            let next = (Double(bitPattern: seen) + amount).bitPattern
            let (exchanged, original) = bits.compareExchange(expected: seen, desired: next, ordering: .relaxed)
            if exchanged { return }
            seen = original
        }
    }

    public var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }
}

/// Observations in buckets that are fixed from the start.
public final class HistogramCell: Sendable {
    /// Upper bounds, rising.
    let bounds: [Double]
    /// One for each bound, and the last for what is above all of them.
    private let counts: [CounterCell]
    private let sum = GaugeCell()

    public init(bounds: [Double]) {
        self.bounds = bounds
        counts = (0...bounds.count).map { _ in CounterCell() }
    }

    /// - Parameter times: counts the value as often as that. What is no number counts as nothing.
    public func observe(_ value: Double, times: Int = 1) {
        guard times > 0, !value.isNaN else { return }
        var bucket = 0
        while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
        counts[bucket].add(times)
        sum.add(value * Double(times))
    }

    struct Reading: Equatable {
        /// How many observations are at most each bound, and how many there are.
        var cumulative: [Int]
        var sum: Double
        var count: Int { cumulative.last ?? 0 }
    }

    /// Buckets never contradict the count, whatever is observed meanwhile; the sum may be of a moment later.
    var reading: Reading {
        var total = 0
        let cumulative = counts.map { cell in
            total += cell.value
            return total
        }
        return Reading(cumulative: cumulative, sum: sum.value)
    }
}
