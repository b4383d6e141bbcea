import Foundation
import TestSupport
import Testing

@testable import fanfare

/// `fanfare config check` says which of OpenTelemetry's variables are in use.
@Suite struct TelemetryVariableTests {
    private func check(_ environment: [String: String], _ more: String = "", json: Bool = false) async throws
        -> CommandRun
    {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.write("key", "a-server-key")
        let yaml = "projects: { p: { transport: legacy, server_key_file: key } }\n" + more
        let file = try folder.write("fanfare.yaml", yaml)
        return try await CommandRun(
            ["config", "check", "-c", file] + (json ? ["--json"] : []),
            environment: environment
        )
    }

    @Test func sourcesAreNamed() async throws {
        let variables = [
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SERVICE_NAME": "shop",
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20hidden-word",
        ]
        let run = try await check(variables)
        #expect(run.status == 0, "\(run.err)")
        let line =
            "telemetry: http://127.0.0.1:4318 (telemetry.headers_file from OTEL_EXPORTER_OTLP_HEADERS, "
            + "telemetry.otlp from OTEL_EXPORTER_OTLP_ENDPOINT, telemetry.service_name from OTEL_SERVICE_NAME)"
        #expect(run.out.split(separator: "\n").contains { $0 == line }, "\(run.out)")
        #expect(!(run.out + run.err).contains("hidden-word"))
        let json = try await check(variables, json: true)
        let object = try JSONSerialization.jsonObject(with: Data(json.out.utf8)) as? [String: Any]
        let telemetry = object?["telemetry"] as? [String: Any]
        #expect(telemetry?["otlp"] as? String == "http://127.0.0.1:4318")
        let sources = telemetry?["variables"] as? [String: String]
        #expect(sources?["telemetry.service_name"] == "OTEL_SERVICE_NAME" && sources?.count == 3)
    }

    @Test func fileAndTheSwitchAreNamed() async throws {
        let file = "telemetry: { otlp: \"http://localhost:1\" }\n"
        #expect(try await check([:], file).out.contains("telemetry: http://localhost:1\n"))
        let off = try await check(["OTEL_SDK_DISABLED": "true"], file)
        #expect(off.out.contains("telemetry: off (telemetry.otlp from OTEL_SDK_DISABLED)"), "\(off.out)")
        #expect(try await !check([:]).out.contains("telemetry"))
    }

    @Test func badValueIsAWarning() async throws {
        let run = try await check(["OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.example:4318"])
        #expect(run.status == 0 && run.err.contains("OTEL_EXPORTER_OTLP_ENDPOINT: "), "\(run.err)")
        #expect(run.err.contains("allowed_hosts") && run.out.contains("The configuration can be used, with "))
    }
}
