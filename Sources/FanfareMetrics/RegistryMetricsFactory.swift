public import CoreMetrics
internal import Synchronization

/// What libraries in the process report through swift-metrics, in the same registry.
///
/// Names and labels are made fit for Prometheus: other characters become `_`. Timers and aggregating recorders are
/// histograms, timers in seconds; a counter, meter or recorder whose name another kind already has counts for nobody.
public struct RegistryMetricsFactory: MetricsFactory {
    private let registry: MetricRegistry

    static let timerBounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    static let recorderBounds: [Double] = [1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 100_000, 1_000_000]

    public init(registry: MetricRegistry) { self.registry = registry }

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let (name, pairs) = Self.clean(label, dimensions)
        return Count(name, pairs, registry.counter(name, pairs) ?? CounterCell())
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        let (name, pairs) = Self.clean(label, dimensions)
        return Level(name, pairs, registry.gauge(name, pairs) ?? GaugeCell())
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        let (name, pairs) = Self.clean(label, dimensions)
        guard aggregate else { return Level(name, pairs, registry.gauge(name, pairs) ?? GaugeCell()) }
        let bounds = Self.recorderBounds
        let cell = registry.histogram(name, pairs, bounds: bounds) ?? HistogramCell(bounds: bounds)
        return Distribution(name, pairs, cell)
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let (name, pairs) = Self.clean(label, dimensions)
        let bounds = Self.timerBounds
        let cell = registry.histogram(name, pairs, bounds: bounds) ?? HistogramCell(bounds: bounds)
        return Distribution(name, pairs, cell)
    }

    public func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
    public func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }
    public func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
    public func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }

    private func destroy(_ handler: Any) {
        guard let handler = handler as? any RegisteredSeries else { return }
        registry.remove(handler.name, handler.pairs)
    }

    // MARK: Names

    static func clean(
        _ label: String,
        _ dimensions: [(String, String)]
    ) -> (name: String, pairs: [MetricRegistry.Pair]) {
        var pairs: [MetricRegistry.Pair] = []
        for (name, value) in dimensions {
            var name = clean(name, colons: false)
            // These two are the format's own.
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

private protocol RegisteredSeries {
    var name: String { get }
    var pairs: [MetricRegistry.Pair] { get }
}

private final class Count: CounterHandler, RegisteredSeries {
    let name: String
    let pairs: [MetricRegistry.Pair]
    private let cell: CounterCell

    init(_ name: String, _ pairs: [MetricRegistry.Pair], _ cell: CounterCell) {
        (self.name, self.pairs, self.cell) = (name, pairs, cell)
    }

    func increment(by amount: Int64) { cell.add(Int(amount)) }
    func reset() { cell.reset() }
}

private final class Level: MeterHandler, RecorderHandler, RegisteredSeries {
    let name: String
    let pairs: [MetricRegistry.Pair]
    private let cell: GaugeCell

    init(_ name: String, _ pairs: [MetricRegistry.Pair], _ cell: GaugeCell) {
        (self.name, self.pairs, self.cell) = (name, pairs, cell)
    }

    func set(_ value: Int64) { cell.set(Double(value)) }
    func set(_ value: Double) { cell.set(value) }
    func increment(by amount: Double) { cell.add(amount) }
    func decrement(by amount: Double) { cell.add(-amount) }
    func record(_ value: Int64) { cell.set(Double(value)) }
    func record(_ value: Double) { cell.set(value) }
}

private final class Distribution: RecorderHandler, TimerHandler, RegisteredSeries {
    let name: String
    let pairs: [MetricRegistry.Pair]
    private let cell: HistogramCell

    init(_ name: String, _ pairs: [MetricRegistry.Pair], _ cell: HistogramCell) {
        (self.name, self.pairs, self.cell) = (name, pairs, cell)
    }

    func record(_ value: Int64) { cell.observe(Double(value)) }
    func record(_ value: Double) { cell.observe(value) }
    func recordNanoseconds(_ duration: Int64) { cell.observe(Double(duration) / 1e9) }
}
