@testable import FanfareMetrics

/// The reference of all metrics as Markdown, generated from the catalogue. The page Metrics ends with exactly this text.
enum MetricReference {
    static var markdown: String {
        let sections = [
            ("Counters", MetricCatalogue.counters), ("Histograms", MetricCatalogue.histograms),
            ("Gauges of the fleet", MetricCatalogue.fleet), ("Gauges of the process", MetricCatalogue.process),
            ("The gateway", MetricCatalogue.gateway),
        ]
        var lines: [String] = []
        for (title, metrics) in sections {
            if !lines.isEmpty { lines.append("") }
            lines += ["### \(title)", "", "| metric | labels | meaning |", "|---|---|---|"]
            lines += metrics.map { "| `\($0.name)` | \(labels(of: $0)) | \($0.help)\(buckets(of: $0)) |" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func labels(of metric: Metric) -> String {
        let labels = metric.labels.map { label in
            let values = label.values.map { "`\($0)`" }.joined(separator: " ")
            return values.isEmpty ? "`\(label.name)`" : "`\(label.name)`: \(values)"
        }
        return labels.joined(separator: "; ")
    }

    private static func buckets(of metric: Metric) -> String {
        guard case .histogram(let bounds) = metric.kind else { return "" }
        return " Buckets: \(bounds.map(PrometheusText.number).joined(separator: ", "))."
    }
}
