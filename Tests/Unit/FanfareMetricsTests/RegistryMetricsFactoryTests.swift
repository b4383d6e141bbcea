import CoreMetrics
import Testing

@testable import FanfareMetrics

/// Metrics that libraries report through swift-metrics.
@Suite struct RegistryMetricsFactoryTests {
    private let registry = MetricRegistry()
    private var factory: RegistryMetricsFactory { RegistryMetricsFactory(registry: registry) }
    private var lines: [Substring] { PrometheusText.render(registry).split(separator: "\n") }

    @Test func everyKindIsExposed() {
        Counter(label: "hb.requests", dimensions: [("http.code", "200")], factory: factory).increment(by: 2)
        FloatingPointCounter(label: "bytes", factory: factory).increment(by: 2.5)
        Meter(label: "load", factory: factory).set(0.5)
        Gauge(label: "level", factory: factory).record(7)
        Recorder(label: "sizes", factory: factory).record(60)
        Timer(label: "time", factory: factory).recordMilliseconds(20)
        #expect(lines.contains("# TYPE hb_requests counter"))
        #expect(lines.contains("hb_requests{http_code=\"200\"} 2"))
        #expect(lines.contains("bytes 2"))
        #expect(lines.contains("load 0.5"))
        #expect(lines.contains("level 7"))
        #expect(lines.contains("sizes_bucket{le=\"100\"} 1") && lines.contains("sizes_bucket{le=\"50\"} 0"))
        #expect(lines.contains("time_bucket{le=\"0.025\"} 1") && lines.contains("time_sum 0.02"))
    }

    @Test func equalLabelsShareASeries() {
        for _ in 0..<3 { Counter(label: "n", dimensions: [("a", "b")], factory: factory).increment() }
        #expect(lines.contains("n{a=\"b\"} 3"))
    }

    @Test func nameOfAnotherKindIsNotExposed() {
        registry.counter(MetricCatalogue.redisErrors).add(4)
        Gauge(label: MetricCatalogue.redisErrors.name, factory: factory).record(1)
        Timer(label: MetricCatalogue.redisErrors.name, factory: factory).recordSeconds(1)
        #expect(lines.last == "fanfare_redis_errors_total 4")
    }

    @Test func destroyedMetricIsNotExposed() {
        let counter = Counter(label: "gone", dimensions: [("a", "b")], factory: factory)
        counter.increment()
        counter.destroy()
        #expect(lines.isEmpty)
    }

    @Test func namesAreSanitized() {
        let (name, pairs) = RegistryMetricsFactory.clean(
            "1.req/sec:é",
            [("le", "1"), ("__name__", "x"), ("a-b", "2"), ("a.b", "3"), ("", "4")]
        )
        #expect(name == "_1_req_sec:_")
        #expect(pairs.map(\.name) == ["label_le", "label___name__", "a_b", "_"])
    }

    @Test func libraryMetricsAreLimited() {
        for number in 0..<3 * MetricRegistry.maximumMetrics {
            Counter(label: "m\(number)", factory: factory).increment()
        }
        let types = lines.filter { $0.hasPrefix("# TYPE") }
        #expect(types.count < 2 * MetricRegistry.maximumMetrics)
    }
}
