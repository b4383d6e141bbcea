public import CoreMetrics

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
        return registry.counter(name, pairs)
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        gauge(label, dimensions)
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        aggregate ? histogram(label, dimensions, bounds: Self.recorderBounds) : gauge(label, dimensions)
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions, bounds: Self.timerBounds)
    }

    public func destroyCounter(_ handler: any CounterHandler) { registry.remove(handler) }
    public func destroyMeter(_ handler: any MeterHandler) { registry.remove(handler) }
    public func destroyRecorder(_ handler: any RecorderHandler) { registry.remove(handler) }
    public func destroyTimer(_ handler: any TimerHandler) { registry.remove(handler) }

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> GaugeCell {
        let (name, pairs) = Self.clean(label, dimensions)
        return registry.gauge(name, pairs)
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)], bounds: [Double]) -> HistogramCell {
        let (name, pairs) = Self.clean(label, dimensions)
        return registry.histogram(name, pairs, bounds: bounds)
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

extension CounterCell: CounterHandler {
    public func increment(by amount: Int64) { add(Int(amount)) }
}

extension GaugeCell: MeterHandler, RecorderHandler {
    public func set(_ value: Int64) { set(Double(value)) }
    public func increment(by amount: Double) { add(amount) }
    public func decrement(by amount: Double) { add(-amount) }
    public func record(_ value: Int64) { set(value) }
    public func record(_ value: Double) { set(value) }
}

extension HistogramCell: RecorderHandler, TimerHandler {
    public func record(_ value: Int64) { observe(Double(value)) }
    public func record(_ value: Double) { observe(value) }
    public func recordNanoseconds(_ duration: Int64) { observe(Double(duration) / 1e9) }
}
