import FanfareModel
import Testing

@testable import FanfareConfiguration

/// OpenTelemetry's own variables fill what no setting says.
@Suite struct OpenTelemetryVariableTests {
    private typealias Telemetry = Configuration.Telemetry

    private static let endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
    private static let here = [endpoint: "http://127.0.0.1:4318"]

    private func load(_ environment: [String: String], _ yaml: String = "") throws -> Configuration {
        try Configuration.load(yaml: yaml, environment: environment)
    }

    @Test func variablesAloneConfigureTelemetry() throws {
        let configuration = try load([
            Self.endpoint: "http://127.0.0.1:4318/otlp/",
            "OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=a%20b%3D, X-Scope = 1",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_SERVICE_NAME": "shop push", "OTEL_SDK_DISABLED": "False",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=pr%C3%B6d,service.name=other,team=push,",
            "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25",
        ])
        let telemetry = configuration.telemetry
        #expect(configuration.warnings.isEmpty)
        #expect(telemetry.otlp == "http://127.0.0.1:4318/otlp" && telemetry.serviceName == "shop push")
        #expect(telemetry.headers.map(\.value) == ["x-api-key: a b=", "X-Scope: 1"])
        #expect(telemetry.attributes.map(\.key) == ["deployment.environment.name", "team"])
        #expect(telemetry.attributes.map(\.value) == ["pröd", "push"])
        #expect(telemetry.traceSampler == Telemetry.Sampler(followsParent: false, ratio: 0.25))
        #expect(telemetry.variables["telemetry.otlp"] == Self.endpoint && telemetry.variables.count == 4)
        #expect(!"\(configuration)".contains("a b="), "headers are secret")
        var secrets = configuration
        secrets.projects = []
        var reader = SecretReader(configuration: secrets)
        #expect(reader.secrets().telemetryHeaders == ["x-api-key: a b=", "X-Scope: 1"])
    }

    @Test func headersOfACollectorThatIsNotUsedAreIgnored() throws {
        let configuration = try load(
            Self.here.merging(["OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=a"]) { $1 },
            "telemetry: { otlp: 'http://localhost:1' }"
        )
        #expect(configuration.telemetry.headers.isEmpty)
        #expect(configuration.warnings.count == 1 && configuration.warnings[0].contains("telemetry.headers_file"))
    }

    @Test func settingsPrecedeTheVariables() throws {
        let yaml = """
            telemetry:
              otlp: "http://localhost:1"
              headers_file: headers
              service_name: mine
              sample_one_in: 4
            """
        let telemetry = try load(
            Self.here.merging([
                "OTEL_SERVICE_NAME": "theirs", "OTEL_EXPORTER_OTLP_HEADERS": "a=b", "OTEL_TRACES_SAMPLER": "always_off",
                "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,team=push", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
            ]) { $1 },
            yaml
        ).telemetry
        #expect(telemetry.otlp == "http://localhost:1" && telemetry.headers.isEmpty && telemetry.serviceName == "mine")
        #expect(telemetry.traceSampler == Telemetry.Sampler(ratio: 0.25))
        #expect(telemetry.attributes.map(\.key) == ["team"] && telemetry.variables.isEmpty)
        let own = try load(Self.here.merging(["FANFARE_TELEMETRY_OTLP": "http://localhost:2"]) { $1 })
        #expect(own.telemetry.otlp == "http://localhost:2" && own.telemetry.variables.isEmpty)
    }

    @Test func nothingIsReadWithoutACollector() throws {
        let configuration = try load(["OTEL_SERVICE_NAME": "a", "OTEL_TRACES_SAMPLER": "nonsense", Self.endpoint: ""])
        #expect(configuration.telemetry == Telemetry() && configuration.warnings.isEmpty)
    }

    /// No setting says the same, so it holds for the file's collector, too.
    @Test(arguments: ["true", "TRUE"]) func disabledSDKSendsNothing(_ value: String) throws {
        let yaml = "telemetry: { otlp: \"http://localhost:1\", service_name: a }"
        let configuration = try load(["OTEL_SDK_DISABLED": value], yaml)
        #expect(configuration.telemetry.otlp == nil && configuration.telemetry.isDisabled)
        #expect(configuration.warnings.isEmpty)
    }

    @Test func serviceNameOfTheAttributesIsTheLastResort() throws {
        let telemetry = try load(Self.here.merging(["OTEL_RESOURCE_ATTRIBUTES": "service.name=shop"]) { $1 }).telemetry
        #expect(telemetry.serviceName == "shop" && telemetry.attributes.isEmpty)
    }

    @Test(arguments: [
        ("always_on", false, 1), ("always_off", false, 0), ("traceidratio", false, 0.5),
        ("parentbased_always_on", true, 1), ("parentbased_always_off", true, 0),
        ("parentbased_traceidratio", true, 0.5),
    ])
    func everySamplerIsKnown(_ name: String, _ followsParent: Bool, _ ratio: Double) throws {
        let variables = ["OTEL_TRACES_SAMPLER": name, "OTEL_TRACES_SAMPLER_ARG": "0.5"]
        let configuration = try load(Self.here.merging(variables) { $1 })
        #expect(configuration.telemetry.traceSampler == Telemetry.Sampler(followsParent: followsParent, ratio: ratio))
        #expect(configuration.warnings.isEmpty)
    }

    /// A bad value never ends a start; the warning names the variable and no secret.
    @Test(arguments: [
        (endpoint, "collector:4317"), (endpoint, "http://collector.example.com:4318"), (endpoint, "https://u:p@h"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "secret"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=secret%0D%0AHost: x"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=secret%zz"), ("OTEL_EXPORTER_OTLP_HEADERS", "Content-Length=secret"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=secret%"), ("OTEL_EXPORTER_OTLP_HEADERS", ","),
        ("OTEL_SERVICE_NAME", "a\u{1}b"), ("OTEL_RESOURCE_ATTRIBUTES", "a=b,c"), ("OTEL_RESOURCE_ATTRIBUTES", "a=%ff"),
        ("OTEL_RESOURCE_ATTRIBUTES", "=b"), ("OTEL_SDK_DISABLED", "1"), ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
        ("OTEL_TRACES_SAMPLER", "parentbased_parentbased_always_on"),
    ])
    func badValueIsIgnoredWithAWarning(_ variable: String, _ value: String) throws {
        let configuration = try load(Self.here.merging([variable: value]) { $1 })
        #expect(configuration.warnings.count == 1)
        #expect(configuration.warnings.allSatisfy { $0.hasPrefix("\(variable): ") && !$0.contains("secret") })
        #expect(configuration.telemetry.traceSampler == Telemetry.Sampler())
        #expect(configuration.telemetry.headers.isEmpty && configuration.telemetry.attributes.isEmpty)
    }

    @Test(arguments: ["", "2", "-0.1", "nan", "x"]) func badArgumentOfTheSamplerIsOne(_ argument: String) throws {
        let variables = ["OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": argument]
        let configuration = try load(Self.here.merging(variables) { $1 })
        #expect(configuration.telemetry.traceSampler == Telemetry.Sampler(followsParent: false))
        #expect(configuration.warnings.count == (argument.isEmpty ? 0 : 1))
    }

    /// The usual address of a collector in Kubernetes needs the same permission as in the file.
    @Test func collectorOverPlainHTTPNeedsAnAllowedHost() throws {
        let variables = [Self.endpoint: "http://collector.observability:4318"]
        let refused = try load(variables)
        #expect(refused.telemetry.otlp == nil && refused.warnings.first?.contains("allowed_hosts") == true)
        let allowed = try load(variables, "allowed_hosts: [collector.observability]")
        #expect(allowed.telemetry.otlp == "http://collector.observability:4318" && allowed.warnings.isEmpty)
    }

    @Test func settingsWithoutACollectorHaveNoEffect() throws {
        let warnings = try load([:], "telemetry: { service_name: a, sample_one_in: 2 }").warnings
        #expect(warnings.count == 2 && warnings.allSatisfy { $0.contains("has no effect without telemetry.otlp") })
    }
}
