import CoreMetrics
import Testing

@testable import FanfareMetrics

@Suite struct PrometheusTextTests {
    @Test func counterHasHelpTypeAndLabels() {
        let registry = MetricRegistry()
        registry.counter(MetricCatalogue.results, "demo", "sent").add(3)
        registry.counter(MetricCatalogue.results, "demo", "failed").add()
        registry.counter(MetricCatalogue.results, "demo", "sent").add()
        #expect(
            PrometheusText.render(registry) == """
                # HELP fanfare_results_total \(MetricCatalogue.results.help)
                # TYPE fanfare_results_total counter
                fanfare_results_total{project="demo",status="failed"} 1
                fanfare_results_total{project="demo",status="sent"} 4

                """
        )
    }

    @Test func histogramIsCumulativeAndEndsWithInfinity() {
        let cell = HistogramCell(bounds: [0.5, 1])
        cell.observe(0.5)
        cell.observe(0.75, times: 2)
        cell.observe(9)
        cell.observe(.nan)
        cell.observe(1, times: 0)
        #expect(cell.reading == .init(cumulative: [1, 3, 4], sum: 11))
        let registry = MetricRegistry()
        registry.histogram(MetricCatalogue.retryDelay, "demo").observe(1.5)
        let text = PrometheusText.render(registry)
        #expect(text.contains("# TYPE fanfare_retry_delay_seconds histogram\n"))
        #expect(text.contains("fanfare_retry_delay_seconds_bucket{project=\"demo\",le=\"1\"} 0\n"))
        #expect(text.contains("fanfare_retry_delay_seconds_bucket{project=\"demo\",le=\"2.5\"} 1\n"))
        #expect(text.contains("fanfare_retry_delay_seconds_bucket{project=\"demo\",le=\"3600\"} 1\n"))
        #expect(text.contains("fanfare_retry_delay_seconds_bucket{project=\"demo\",le=\"+Inf\"} 1\n"))
        #expect(text.hasSuffix("_sum{project=\"demo\"} 1.5\nfanfare_retry_delay_seconds_count{project=\"demo\"} 1\n"))
    }

    @Test(arguments: [
        (0.0, "0"), (-0.0, "0"), (3, "3"), (-2, "-2"), (0.25, "0.25"), (1e15, "1000000000000000.0"),
        (.infinity, "+Inf"),
        (-.infinity, "-Inf"), (.nan, "NaN"),
    ])
    func numbersHavePrometheusForm(_ value: Double, _ text: String) {
        #expect(PrometheusText.number(value) == text)
    }

    @Test func labelValuesAreEscaped() {
        let registry = MetricRegistry()
        registry.gauge(MetricCatalogue.buildInfo, "a\"b\\c\r\nd é").set(1)
        let line = PrometheusText.render(registry).split(separator: "\n").last
        #expect(line == "fanfare_build_info{version=\"a\\\"b\\\\c\r\\nd é\"} 1")
        #expect(PrometheusText.escaped("a\\b\n\"c\"") == "a\\\\b\\n\"c\"")
    }

    @Test func seriesOfARemovedProjectAreGone() {
        let registry = MetricRegistry()
        registry.gauge(MetricCatalogue.inFlight, "gone").set(1)
        registry.gauge(MetricCatalogue.inFlight, "kept").set(1)
        registry.counter(MetricCatalogue.redisErrors).add()
        registry.removeProject("gone")
        let text = PrometheusText.render(registry)
        #expect(!text.contains("gone") && text.contains("kept") && text.contains("fanfare_redis_errors_total 1"))
    }

    @Test func seriesBeyondTheLimitShareOneSeries() {
        let registry = MetricRegistry()
        for project in 0..<MetricRegistry.maximumSeries + 50 {
            registry.counter(MetricCatalogue.maybeDuplicates, "p\(project)").add()
        }
        let lines = PrometheusText.render(registry).split(separator: "\n")
        #expect(lines.count == 2 + MetricRegistry.maximumSeries + 1)
        #expect(lines.contains("fanfare_maybe_duplicates_total{project=\"overflow\"} 50"))
    }

    @Test func collectorsRunBeforeEachReading() {
        let registry = MetricRegistry()
        let gauge = registry.gauge(MetricCatalogue.openFiles)
        let calls = CounterCell()
        registry.onCollect {
            calls.add()
            gauge.set(calls.value)
        }
        #expect(PrometheusText.render(registry).hasSuffix("process_open_fds 1\n"))
        #expect(PrometheusText.render(registry).hasSuffix("process_open_fds 2\n"))
    }
}
