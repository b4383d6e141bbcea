import FanfareMetrics
import Foundation
import TestSupport
import Testing

/// Rules, the dashboard, autoscaling and the pages use only metrics that exist.
@Suite struct MetricUseTests {
    private static let root = Repository.root

    private static func files(_ folder: String, _ kinds: Set<String>) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: root.appendingPathComponent(folder),
            includingPropertiesForKeys: nil
        )
        .filter { kinds.contains($0.pathExtension) }.sorted { $0.path < $1.path }
    }

    private static func all() throws -> [URL] {
        let pages = "Sources/Documentation/Fanfare.docc"
        return try files("ops/prometheus", ["yaml"]) + files("ops/grafana", ["json"])
            + files("ops/kubernetes/components/keda", ["yaml"])
            + files(pages, ["md"]) + files(pages + "/Runbook", ["md"])
    }

    /// Quotes within JSON are escaped there.
    private static func text(_ file: URL) throws -> String {
        try String(contentsOf: file, encoding: .utf8).replacing("\\\"", with: "\"")
    }

    /// The metric that a series belongs to: a histogram's series have a suffix.
    private static func metric(of series: Substring) -> Metric? {
        if let metric = MetricCatalogue.metric(named: String(series)) { return metric }
        for suffix in ["_bucket", "_sum", "_count"] where series.hasSuffix(suffix) {
            if let metric = MetricCatalogue.metric(named: String(series.dropLast(suffix.count))),
                metric.kind.name == "histogram"
            {
                return metric
            }
        }
        return nil
    }

    @Test func usedNamesAreMetrics() throws {
        var names = Set<String>()
        for file in try Self.all() {
            let text = try Self.text(file)
            // A name between colons is a recording rule's, which are looked at below.
            for match in text.matches(
                of: /(?:^|[^:a-zA-Z0-9_.\/-])((?:fanfare|process)_[a-z0-9_]+)(?=[^a-zA-Z0-9_:.-]|\.\s|$)/
            ) {
                let name = match.1
                // The library of functions in Redis has such a name too.
                if name.wholeMatch(of: /fanfare_v[0-9]+/) != nil { continue }
                #expect(Self.metric(of: name) != nil, "\(file.lastPathComponent): \(name)")
                names.insert(String(name))
            }
        }
        #expect(names.count > 30)
    }

    @Test func usedLabelsAndValuesExist() throws {
        let ofScraping = ["job", "instance", "le"]
        var checked = 0
        for file in try Self.all() {
            for match in try Self.text(file).matches(of: /((?:fanfare|process)_[a-z0-9_]+)\{([^{}]*)\}/) {
                let metric = try #require(Self.metric(of: match.1), "\(file.lastPathComponent): \(match.1)")
                for matcher in match.2.matches(of: /([a-z_]+)\s*(=~|!=|!~|=)\s*"([^"]*)"/)
                where !ofScraping.contains(String(matcher.1)) {
                    let place = "\(file.lastPathComponent): \(match.0)"
                    let label = metric.labels.first { $0.name == matcher.1 }
                    #expect(label != nil, "\(place): \(matcher.1)")
                    if let values = label?.values, !values.isEmpty, matcher.2 == "=" || matcher.2 == "!=" {
                        #expect(values.contains(String(matcher.3)), "\(place): \(matcher.3)")
                    }
                    checked += 1
                }
            }
        }
        #expect(checked > 50)
    }

    /// Every worker exposes the gauges of the fleet, so their sum would count everything once per worker.
    @Test func fleetGaugesAreNeverSummed() throws {
        let files =
            try Self.files("ops/prometheus", ["yaml"]) + Self.files("ops/grafana", ["json"])
            + Self.files("ops/kubernetes/components/keda", ["yaml"])
        for file in files {
            for match in try Self.text(file).matches(
                of: /(?:sum|avg|count)(?: *(?:by|without) *\([^()]*\))? *\( *(fanfare_[a-z0-9_]+)/
            ) {
                guard let metric = Self.metric(of: match.1) else { continue }
                #expect(metric.scope == .process, "\(file.lastPathComponent): \(match.0)")
            }
        }
    }

    @Test func everyRecordedSeriesHasARule() throws {
        let name = /[a-z_]+:[a-z0-9_]+:[a-z0-9_]+/
        let rules = try Self.text(Self.root.appendingPathComponent("ops/prometheus/recording.yaml"))
        let recorded = Set(rules.matches(of: /- record: (\S+)/).map { String($0.1) })
        #expect(recorded.count > 10)
        for file in try Self.all() {
            for match in try Self.text(file).matches(of: name) where match.0.contains(":fanfare_") {
                #expect(recorded.contains(String(match.0)), "\(file.lastPathComponent): \(match.0)")
            }
        }
    }

    @Test func everyMetricOfTheFleetIsOnTheDashboard() throws {
        let text = try Self.text(Self.root.appendingPathComponent("ops/grafana/fanfare.json"))
        for metric in MetricCatalogue.all where metric.name != "fanfare_admin_requests_total" {
            #expect(text.contains(metric.name), "\(metric.name)")
        }
    }
}
