import FanfareJSON
import FanfareMetrics
import Testing
import Tracing

@testable import FanfareTelemetry

@Suite struct OTLPMetricsTests {
    private static let resource = TelemetryResource(instance: "w1", version: "0.1", prefix: "fanfare")
    private static let period = OTLPMetrics.Period(startNs: 1, nowNs: 2)
    private let registry = MetricRegistry()

    private func body(maximumBytes: Int = .max) -> (body: OTLPBody, families: Int) {
        OTLPMetrics.body(registry.read(), Self.period, resource: Self.resource, maximumBytes: maximumBytes)
    }

    private func metrics(_ body: OTLPBody) throws -> [String] {
        let value = try JSONParser.parse(body.bytes)
        let scope = value.object?["resourceMetrics"]?.array?[0].object?["scopeMetrics"]?.array?[0].object
        return (scope?["metrics"]?.array ?? []).map { metric in
            var object = metric.object ?? [:]
            object["description"] = nil
            return JSONValue.object(object).jsonText
        }
    }

    @Test func eachKindHasItsForm() throws {
        registry.counter(MetricCatalogue.takeovers, "demo").add(3)
        registry.gauge(MetricCatalogue.memory).set(1.5)
        registry.gauge(MetricCatalogue.cpu).set(0.25)
        let waits = registry.histogram(MetricCatalogue.retryDelay, "demo")
        waits.observe(1)
        waits.observe(2, times: 2)
        waits.observe(100_000)
        let body = body().body
        #expect(body.count == 4)
        let demo = #""attributes":[{"key":"project","value":{"stringValue":"demo"}}],"#
        let times = #""startTimeUnixNano":"1","timeUnixNano":"2","#
        #expect(
            try metrics(body) == [
                #"{"name":"fanfare_takeovers_total","sum":{"aggregationTemporality":2,"isMonotonic":true,"#
                    + #""dataPoints":[{\#(demo)\#(times)"asInt":"3"}]}}"#,
                #"{"name":"fanfare_retry_delay_seconds","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":["#
                    + #"{\#(demo)\#(times)"count":"4","sum":100005.0,"#
                    + #""bucketCounts":["1","2","0","0","0","0","0","0","0","0","0","0","1"],"#
                    + #""explicitBounds":[1.0,2.5,5.0,10.0,20.0,30.0,60.0,120.0,300.0,600.0,1800.0,3600.0]}]}}"#,
                #"{"name":"process_cpu_seconds_total","unit":"s","sum":{"aggregationTemporality":2,"isMonotonic":true,"#
                    + #""dataPoints":[{\#(times)"asDouble":0.25}]}}"#,
                #"{"name":"process_resident_memory_bytes","unit":"By","gauge":{"dataPoints":["#
                    + #"{"timeUnixNano":"2","asDouble":1.5}]}}"#,
            ]
        )
    }

    @Test func valuesThatJSONLacksAreTexts() {
        #expect(
            OTLP.double(.nan) == "NaN" && OTLP.double(-.infinity) == "-Infinity" && OTLP.double(.infinity) == "Infinity"
        )
        #expect(OTLP.double(1e-7).jsonText == "1e-07" && OTLP.double(-2).jsonText == "-2.0")
        #expect(OTLP.integer(UInt64.max) == "18446744073709551615")
    }

    private func addThreeMetrics() {
        for metric in [MetricCatalogue.takeovers, MetricCatalogue.repairs, MetricCatalogue.maybeDuplicates] {
            for project in ["a", "b"] { registry.counter(metric, project).add() }
        }
    }

    @Test func bodyEndsBeforeTheMetricThatIsTooMuch() throws {
        addThreeMetrics()
        let all = body()
        #expect(all.families == 3 && all.body.count == 6)
        for (maximumBytes, families) in [(1, 1), (all.body.bytes.count - 10, 2)] {
            let part = body(maximumBytes: maximumBytes)
            #expect(part.families == families && part.body.count == 2 * families)
            #expect(try metrics(part.body) == Array(metrics(all.body).prefix(families)))
        }
    }

    @Test func roundSendsEachMetricOnceAndReadsEachBodyAnew() throws {
        addThreeMetrics()
        let source = MetricSource(registry: registry, resource: Self.resource, maximumBytes: 1)
        var texts: [String] = []
        // The first body fails, and the counters grow during the backoff.
        for _ in 1...3 {
            #expect(texts.isEmpty ? source.backlog == .some : source.backlog == .full)
            texts.append(String(decoding: try #require(source.next()).bytes, as: UTF8.self))
            addThreeMetrics()
        }
        #expect(source.backlog == .some, "the round is over")
        for (index, text) in texts.enumerated() { #expect(text.contains(#""asInt":"\#(index + 1)""#), "\(text)") }
        #expect(Set(texts.flatMap { $0.matches(of: #/"name":"(fanfare_\w+)"/#).map { $0.1 } }).count == 3)
    }

    @Test func metricsThatVanishEndTheRound() {
        addThreeMetrics()
        let source = MetricSource(registry: registry, resource: Self.resource, maximumBytes: 1)
        #expect(source.next() != nil && source.backlog == .full)
        for project in ["a", "b"] { registry.removeProject(project) }
        #expect(source.next() == nil && source.backlog == .some)
    }

    @Test func drainedSourceIsReadOnceMore() throws {
        registry.counter(MetricCatalogue.takeovers, "demo").add(1)
        let source = MetricSource(registry: registry, resource: Self.resource)
        #expect(source.backlog == .some && source.next()?.count == 1 && source.backlog == .some)
        registry.counter(MetricCatalogue.takeovers, "demo").add(1)
        source.drain()
        #expect(source.backlog == .some)
        let last = try #require(source.next())
        #expect(String(decoding: last.bytes, as: UTF8.self).contains(#""asInt":"2""#) && source.backlog == .none)
    }

    @Test func spansAreARequestOnceTheBatchIsFull() {
        let queue = SpanQueue(capacity: 1_000, dropped: CounterCell())
        let source = SpanSource(queue: queue, resource: Self.resource)
        #expect(source.backlog == .none && source.next() == nil)
        func add(_ count: Int) {
            for _ in 0..<count { OTLPTracer(queue: queue).startSpan("s", context: .topLevel).end() }
        }
        add(1)
        #expect(source.backlog == .some)
        add(SpanSource.batch)
        #expect(source.backlog == .full && source.next()?.count == SpanSource.batch && queue.count == 1)
    }
}
