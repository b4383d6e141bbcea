internal import Synchronization

/// Holds all series of the process. Get cells once, at start, and count on them directly.
public final class MetricRegistry: Sendable {
    /// Maximum number of series of a metric. All others share one series with the labels `overflow`, so that a label with
    /// unbounded values cannot fill the memory of the process and its scrapers.
    public static let maximumSeries = 1_000
    /// Maximum number of metrics that libraries add to the catalogue's.
    public static let maximumMetrics = 500

    private static let overflow = "overflow"

    package typealias Pair = (name: String, value: String)

    package struct Series {
        package let pairs: [Pair]
        package let cell: any AnyObject & Sendable
    }

    package struct Family {
        package let name: String
        package let kind: Metric.Kind
        package let help: String
        package fileprivate(set) var series: [[String]: Series] = [:]
    }

    private struct State {
        var families: [String: Family] = [:]
        var collectors: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    public init() {}

    // MARK: Metrics of the catalogue

    /// - Parameter values: the values of the metric's labels, in their order.
    public func counter(_ metric: Metric, _ values: String...) -> CounterCell {
        counter(metric.name, pairs(metric, values))
    }

    public func histogram(_ metric: Metric, _ values: String...) -> HistogramCell {
        guard case .histogram(let bounds) = metric.kind else { preconditionFailure("\(metric.name) has no buckets") }
        return histogram(metric.name, pairs(metric, values), bounds: bounds)
    }

    /// A gauge, or a copy of a counter kept elsewhere.
    public func gauge(_ metric: Metric, _ values: String...) -> GaugeCell {
        gauge(metric.name, pairs(metric, values), kind: metric.kind)
    }

    private func pairs(_ metric: Metric, _ values: [String]) -> [Pair] {
        precondition(metric.labels.count == values.count, "\(metric.name) has other labels")
        return zip(metric.labels, values).map { ($0.name, $1) }
    }

    /// Registers a closure that is called before every exposition, on its thread, to update values.
    public func onCollect(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.collectors.append(body) }
    }

    // MARK: Any metric. If another kind of metric has the name, or there are too many metrics, the cell is not exposed.

    func counter(_ name: String, _ pairs: [Pair]) -> CounterCell {
        cell(name, .counter, pairs, CounterCell())
    }

    func gauge(_ name: String, _ pairs: [Pair], kind: Metric.Kind = .gauge) -> GaugeCell {
        cell(name, kind, pairs, GaugeCell())
    }

    func histogram(_ name: String, _ pairs: [Pair], bounds: [Double]) -> HistogramCell {
        cell(name, .histogram(bounds), pairs, HistogramCell(bounds: bounds))
    }

    private func cell<Cell: AnyObject & Sendable>(
        _ name: String,
        _ kind: Metric.Kind,
        _ pairs: [Pair],
        _ new: Cell
    ) -> Cell {
        state.withLock { state in
            let known = MetricCatalogue.metric(named: name)
            if state.families[name] == nil {
                guard known != nil || state.families.count < MetricCatalogue.all.count + Self.maximumMetrics else {
                    return new
                }
                state.families[name] = Family(name: name, kind: kind, help: known?.help ?? "")
            }
            guard let family = state.families[name], family.kind == kind else { return new }
            var pairs = pairs
            if let series = family.series[Self.key(pairs)] { return series.cell as? Cell ?? new }
            if family.series.count >= Self.maximumSeries {
                pairs = pairs.map { ($0.name, Self.overflow) }
                if let series = family.series[Self.key(pairs)] { return series.cell as? Cell ?? new }
            }
            state.families[name]?.series[Self.key(pairs)] = Series(pairs: pairs, cell: new)
            return new
        }
    }

    private static func key(_ pairs: [Pair]) -> [String] { pairs.flatMap { [$0.name, $0.value] } }

    /// Removes the series of a cell that its owner destroyed; the series that others share stays.
    func remove(_ cell: AnyObject) {
        state.withLock { state in
            for (name, family) in state.families {
                guard let key = family.series.first(where: { $0.value.cell === cell })?.key else { continue }
                if !key.contains(Self.overflow) { state.families[name]?.series[key] = nil }
            }
        }
    }

    /// Removes every series of a project that is no longer served.
    public func removeProject(_ project: String) {
        state.withLock { state in
            for (name, family) in state.families {
                for (key, series) in family.series
                where series.pairs.contains(where: { $0.name == "project" && $0.value == project }) {
                    state.families[name]?.series[key] = nil
                }
            }
        }
    }

    // MARK: Reading

    /// All metrics with a series: the catalogue's in its order, then the others by name.
    package func read() -> [Family] {
        let collectors = state.withLock { $0.collectors }
        for collector in collectors { collector() }
        let families = state.withLock { $0.families }
        let ours = MetricCatalogue.all.compactMap { families[$0.name] }
        let others = families.values.filter { MetricCatalogue.metric(named: $0.name) == nil }
        return (ours + others.sorted { $0.name < $1.name }).filter { !$0.series.isEmpty }
    }
}
