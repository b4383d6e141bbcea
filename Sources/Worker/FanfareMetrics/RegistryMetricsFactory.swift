public import CoreMetrics
internal import Synchronization

/// Puts the metrics that libraries report through swift-metrics into the registry.
///
/// In names and labels, characters that Prometheus does not allow become `_`. Timers, in seconds, and aggregating
/// recorders are histograms. A metric whose name another kind already has is not exposed.
public struct RegistryMetricsFactory: MetricsFactory {
    private let registry: MetricRegistry

    static let timerBounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    static let recorderBounds: [Double] = [1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 100_000, 1_000_000]

    public init(registry: MetricRegistry) { self.registry = registry }

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let (name, pairs) = Self.clean(label, dimensions)
        return Count(Series(name, pairs, registry.counter(name, pairs) ?? CounterCell()))
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        let (name, pairs) = Self.clean(label, dimensions)
        return Level(Series(name, pairs, registry.gauge(name, pairs) ?? GaugeCell()))
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        let (name, pairs) = Self.clean(label, dimensions)
        guard aggregate else { return Level(Series(name, pairs, registry.gauge(name, pairs) ?? GaugeCell())) }
        let bounds = Self.recorderBounds
        let cell = registry.histogram(name, pairs, bounds: bounds) ?? HistogramCell(bounds: bounds)
        return Distribution(Series(name, pairs, cell))
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let (name, pairs) = Self.clean(label, dimensions)
        let bounds = Self.timerBounds
        let cell = registry.histogram(name, pairs, bounds: bounds) ?? HistogramCell(bounds: bounds)
        return Distribution(Series(name, pairs, cell))
    }

    public func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
    public func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }
    public func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
    public func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }

    private func destroy(_ handler: Any) {
        (handler as? any Registered)?.remove(from: registry)
    }

    // MARK: Names

    static func clean(
        _ label: String,
        _ dimensions: [(String, String)]
    ) -> (name: String, pairs: [MetricRegistry.Pair]) {
        var pairs: [MetricRegistry.Pair] = []
        for (name, value) in dimensions {
            var name = clean(name, colons: false)
            // The exposition format reserves these.
            if name == "le" || name.hasPrefix("__") { name = "label_" + name }
            if !pairs.contains(where: { $0.name == name }) { pairs.append((name, value)) }
        }
        return (clean(label, colons: true), pairs)
    }

    private static func clean(_ text: String, colons: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            let isDigit = ("0"..."9").contains(scalar)
            let isLetter = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
            if isDigit, result.isEmpty { result = "_" }
            result.unicodeScalars.append(isDigit || isLetter || (colons && scalar == ":") ? scalar : "_")
        }
        return result.isEmpty ? "_" : result
    }
}

/// The cell of a handler, with its name and labels.
private struct Series<Cell: Sendable>: Sendable {
    let name: String
    let pairs: [MetricRegistry.Pair]
    let cell: Cell

    init(_ name: String, _ pairs: [MetricRegistry.Pair], _ cell: Cell) {
        (self.name, self.pairs, self.cell) = (name, pairs, cell)
    }
}

private protocol Registered {
    associatedtype Cell: Sendable
    var series: Series<Cell> { get }
}

extension Registered {
    func remove(from registry: MetricRegistry) { registry.remove(series.name, series.pairs) }
}

private final class Count: CounterHandler, Registered {
    let series: Series<CounterCell>

    init(_ series: Series<CounterCell>) { self.series = series }

    func increment(by amount: Int64) { series.cell.add(Int(amount)) }
    func reset() { series.cell.reset() }
}

private final class Level: MeterHandler, RecorderHandler, Registered {
    let series: Series<GaugeCell>

    init(_ series: Series<GaugeCell>) { self.series = series }

    func set(_ value: Int64) { series.cell.set(Double(value)) }
    func set(_ value: Double) { series.cell.set(value) }
    func increment(by amount: Double) { series.cell.add(amount) }
    func decrement(by amount: Double) { series.cell.add(-amount) }
    func record(_ value: Int64) { series.cell.set(Double(value)) }
    func record(_ value: Double) { series.cell.set(value) }
}

private final class Distribution: RecorderHandler, TimerHandler, Registered {
    let series: Series<HistogramCell>

    init(_ series: Series<HistogramCell>) { self.series = series }

    func record(_ value: Int64) { series.cell.observe(Double(value)) }
    func record(_ value: Double) { series.cell.observe(value) }
    func recordNanoseconds(_ duration: Int64) { series.cell.observe(Double(duration) / 1e9) }
}
