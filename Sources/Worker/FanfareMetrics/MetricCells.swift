internal import Synchronization

/// A counter. Any thread may add and read, without locks and allocations.
public final class CounterCell: Sendable {
    private let count = Atomic<Int>(0)

    public init() {}

    public func add(_ amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

    public var value: Int { count.load(ordering: .relaxed) }

    /// Sets the counter to 0, which a scraper treats as a restart.
    public func reset() { count.store(0, ordering: .relaxed) }
}

/// A gauge, or a copy of a counter kept elsewhere. Any thread may set and read it.
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

/// A histogram with fixed buckets.
public final class HistogramCell: Sendable {
    /// Upper bounds, ascending.
    package let bounds: [Double]
    /// One for each bound, and one for values above all bounds.
    private let counts: [CounterCell]
    private let sum = GaugeCell()

    public init(bounds: [Double]) {
        self.bounds = bounds
        counts = (0...bounds.count).map { _ in CounterCell() }
    }

    /// Counts a value that many times; ignores NaN.
    public func observe(_ value: Double, times: Int = 1) {
        guard times > 0, !value.isNaN else { return }
        var bucket = 0
        while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
        counts[bucket].add(times)
        sum.add(value * Double(times))
    }

    package struct Reading: Equatable {
        /// Observations up to each bound, and the number of all.
        package var cumulative: [Int]
        package var sum: Double
        package var count: Int { cumulative.last ?? 0 }
    }

    /// A consistent reading of buckets and count. The sum may include later observations.
    package var reading: Reading {
        var total = 0
        let cumulative = counts.map { cell in
            total += cell.value
            return total
        }
        return Reading(cumulative: cumulative, sum: sum.value)
    }
}
