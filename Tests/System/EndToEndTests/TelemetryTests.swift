import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"]

/// Spans and metrics at an OTLP collector that checks them against the published protobuf schema. `FANFARE_SDK_PYTHON`
/// names a Python that has `opentelemetry-proto`.
@Suite(.enabled(if: python != nil, "FANFARE_SDK_PYTHON names no Python"))
struct TelemetryTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private let hello = #"{"notification":{"title":"Hello","body":"World"}}"#

    private struct Seen: Decodable {
        struct Span: Decodable {
            var name: String
            var trace: String
            var span: String
            var parent: String
            var state: String
            var kind: Int
            var links: [String]
            var attributes: [String: String]
        }

        struct Request: Decodable {
            var path: String
            var mode: String
            var time: Double
            var key: String
            var type: String
        }

        var spans: [Span]
        var metrics: [String: Double]
        var requests: [Request]
        var errors: [String]
        var resources: [[String: String]]
        var text: String
    }

    private final class Collector {
        let process: ChildProcess
        let port: Int

        init(port: Int = 0) async throws {
            process = try ChildProcess(
                [Repository.fixture("telemetry/collector.py"), "--port", "\(port)"],
                executable: URL(fileURLWithPath: try #require(python))
            )
            try await process.printed("\n")
            self.port = try #require(Int(process.stdout.trimmingCharacters(in: .whitespacesAndNewlines)))
        }

        func mode(_ mode: String) throws { _ = try LoopbackHTTP(port: port).request("POST", "/mode", mode) }

        func seen() throws -> Seen {
            let body = try LoopbackHTTP(port: port).request("GET", "/seen")
            let seen = try JSONDecoder().decode(Seen.self, from: Data(body))
            #expect(seen.errors == [])
            return seen
        }

        /// Waits until the collector has what `condition` asks for.
        @discardableResult
        func waitUntil(_ what: String, seconds: Double = 60, _ condition: (Seen) -> Bool) async throws -> Seen {
            var last = try seen()
            try await Wait.until("\(what); \(last.spans) \(last.metrics)", seconds: seconds) {
                last = try seen()
                return condition(last)
            }
            return last
        }

        /// A port that nothing listens on now.
        static func freePort() async throws -> Int {
            let collector = try await Collector()
            collector.process.signal(SIGKILL)
            _ = try await collector.process.wait()
            return collector.port
        }
    }

    private func settings(_ port: Int, _ more: String = "") -> String {
        "telemetry: { otlp: \"http://127.0.0.1:\(port)\", interval_ms: 1000\(more) }"
    }

    @Test func jobsTraceAndTheMetricsArriveAndADrainSendsTheRest() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let collector = try await Collector()
            let headers = rig.directory.appendingPathComponent("headers")
            try "X-Api-Key: collector-secret-1\n".write(to: headers, atomically: true, encoding: .utf8)
            let file = try rig.configuration(extra: settings(collector.port, ", headers_file: \(headers.path)"))
            let worker = try await rig.startWorker(file, ["--name", "worker-1"])
            let tokens = (0..<1_500).map { "private-token-\($0)" }
            try await rig.push([
                "id": "traced", "message": hello, "tokens": Rig.tokens(tokens), "tracestate": "vendor=1",
                "traceparent": "00-\(Self.trace)-00f067aa0ba902b7-01",
            ])
            try await rig.finished("traced")
            let seen = try await collector.waitUntil("spans and metrics") {
                $0.spans.count >= 2
                    && $0.metrics["fanfare_sends_total,project=demo,transport=v1,verdict=sent"] == 1_500
            }
            for span in seen.spans {
                #expect(span.name == "process fanfare:{demo}:jobs" && span.kind == 5 && span.state == "vendor=1")
                #expect(span.trace == Self.trace && span.parent == "00f067aa0ba902b7" && span.links == [])
                #expect(span.attributes["messaging.destination.name"] == "fanfare:{demo}:jobs")
                #expect(span.attributes["messaging.operation.name"] == "process")
                #expect(span.attributes["fanfare.job"] == "traced" && span.attributes["fanfare.outcome"] != nil)
            }
            #expect(Set(seen.spans.map(\.span)).count == seen.spans.count)
            #expect(seen.spans.contains { $0.attributes["fanfare.recipients"] == "1000" })
            #expect(seen.metrics["fanfare_queue_wait_seconds,project=demo"] == 1_500)
            #expect(
                seen.resources.allSatisfy {
                    $0["service.instance.id"] == "worker-1" && $0["fanfare.prefix"] == "fanfare"
                }
            )
            #expect(seen.requests.allSatisfy { $0.key == "collector-secret-1" && $0.type == "application/json" })
            #expect(!seen.text.contains("private-token"))

            // Unsampled: its span is not recorded. The next one begins a trace, and its drain does not wait for 5 s.
            try await rig.push([
                "id": "quiet", "message": hello, "token": "t1", "traceparent": "00-\(Self.trace)-00f067aa0ba902b7-00",
            ])
            try await rig.finished("quiet")
            try await rig.push(["id": "last", "message": hello, "token": "t2"])
            try await rig.finished("last")
            worker.signal(SIGTERM)
            #expect(try await worker.wait() == 0)
            let all = try collector.seen()
            let last = try #require(all.spans.last { $0.attributes["fanfare.job"] == "last" })
            #expect(!all.spans.contains { $0.attributes["fanfare.job"] == "quiet" })
            #expect(last.parent.isEmpty && last.trace != Self.trace)
            #expect(all.metrics["fanfare_telemetry_items_total,outcome=exported,signal=spans"] ?? 0 >= 2)
            #expect(!worker.stderr.contains("collector-secret"))
        }
    }

    /// As an operator of Kubernetes sets them: no word of telemetry in the file.
    @Test func variablesOfOpenTelemetryConfigureAWorker() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let collector = try await Collector()
            let variables = [
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:\(collector.port)", "OTEL_SERVICE_NAME": "shop-push",
                "OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=collector%2Dsecret%2D2", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
                "OTEL_RESOURCE_ATTRIBUTES": "k8s.pod.name=worker-7,service.version=9",
                "OTEL_TRACES_SAMPLER": "always_on",
            ]
            let worker = try await rig.startWorker(try rig.configuration(), environment: variables)
            // always_on records what the producer does not.
            let parent = "00-\(Self.trace)-00f067aa0ba902b7-00"
            try await rig.push(["id": "traced", "message": hello, "token": "t1", "traceparent": parent])
            try await rig.finished("traced")
            let seen = try await collector.waitUntil("a span") { !$0.spans.isEmpty }
            #expect(seen.spans.first?.trace == Self.trace)
            for resource in seen.resources {
                #expect(resource["service.name"] == "shop-push" && resource["k8s.pod.name"] == "worker-7")
                #expect(resource["service.version"] != "9")
            }
            #expect(seen.requests.allSatisfy { $0.key == "collector-secret-2" })
            worker.signal(SIGTERM)
            #expect(try await worker.wait() == 0)
            let warnings = worker.stderr.split(separator: "\n").filter { $0.contains("OTEL_EXPORTER_OTLP_PROTOCOL") }
            #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains("http/json") })
            #expect(!worker.stderr.contains("collector-secret"))
        }
    }

    @Test func oldJobIsLinkedToItsProducerAndATraceThatBeginsHereIsSampled() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let collector = try await Collector()
            let file = try rig.configuration(extra: settings(collector.port))
            let parent = "00-\(Self.trace)-00f067aa0ba902b7-01"
            let first = try await rig.startWorker(file)
            // The entry's id says when it was pushed.
            let pushedMs = Int64(Date().timeIntervalSince1970 * 1_000) - 120_000
            let fields = ["id", "old", "message", hello, "token", "t1", "traceparent", parent]
            var old = RedisCommand("XADD", "fanfare:{demo}:jobs", "\(pushedMs)-0")
            for field in fields { old.append(field) }
            _ = try await rig.client.send(old)
            try await rig.finished("old")
            first.signal(SIGTERM)
            #expect(try await first.wait() == 0)

            let second = try await rig.startWorker(file, environment: ["FANFARE_TELEMETRY_SAMPLE_ONE_IN": "1000000000"])
            try await rig.push(["id": "plain", "message": hello, "token": "t2"])
            try await rig.finished("plain")
            try await rig.push(["id": "new", "message": hello, "token": "t3", "traceparent": parent])
            try await rig.finished("new")
            second.signal(SIGTERM)
            #expect(try await second.wait() == 0)

            let spans = try collector.seen().spans
            #expect(spans.map { $0.attributes["fanfare.job"] } == ["old", "new"])
            let linked = try #require(spans.first)
            #expect(linked.links == [Self.trace] && linked.parent.isEmpty && linked.trace != Self.trace)
            #expect(spans.last?.trace == Self.trace && spans.last?.links == [])
        }
    }

    @Test func telemetryWaitsForACollectorThatIsDown() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let port = try await Collector.freePort()
            let worker = try await rig.startWorker(try rig.configuration(extra: settings(port)))
            try await rig.push(["id": "early", "message": hello, "token": "t1"])
            try await rig.finished("early")
            try await worker.logged("The OTLP collector does not take this worker's telemetry; sends continue.")
            let first = try await Collector(port: port)
            try await first.waitUntil("the span from before") { seen in
                seen.spans.contains { $0.attributes["fanfare.job"] == "early" }
            }
            try await worker.logged("The OTLP collector takes telemetry again.")

            first.process.signal(SIGKILL)
            _ = try await first.process.wait()
            try await rig.push(["id": "later", "message": hello, "token": "t2"])
            try await rig.finished("later")
            let second = try await Collector(port: port)
            try await second.waitUntil("the span from between") { seen in
                seen.spans.contains { $0.attributes["fanfare.job"] == "later" }
            }
            #expect(worker.stderr.components(separatedBy: "does not take").count <= 3, "one a minute for each signal")
        }
    }

    @Test func overloadedOrHangingCollectorDelaysNoSend() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let collector = try await Collector()
            try collector.mode("busy")
            let worker = try await rig.startWorker(try rig.configuration(extra: settings(collector.port)))
            try await push(rig, "during-busy")
            let busy = try await collector.waitUntil("three refused requests") { seen in
                seen.requests.filter { $0.path == "/v1/metrics" }.count >= 3
            }
            let times = busy.requests.filter { $0.path == "/v1/metrics" }.map(\.time)
            #expect(
                zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 1.99 },
                "Retry-After: 2 is honoured: \(times)"
            )

            try collector.mode("hang")
            try await collector.waitUntil("both signals to hang") { seen in
                Set(seen.requests.filter { $0.mode == "hang" }.map(\.path)).count == 2
            }
            try await push(rig, "during-hang")
            #expect(try collector.seen().spans.isEmpty)
            worker.signal(SIGTERM)
            #expect(try await worker.wait() == 0, "a drain waits two seconds at most for a collector")
        }
    }

    private func push(_ rig: Rig, _ id: String) async throws {
        let tokens = (0..<3_000).map { "\(id)-\($0)" }
        try await rig.push(["id": id, "message": hello, "tokens": Rig.tokens(tokens)])
        #expect(try await rig.finished(id)["sent"] == "3000")
    }
}
