import Foundation
import TestSupport
import Testing

@testable import FanfareConfiguration

@Suite struct SchemaTests {
    private static let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"]
    private static let pages = "Sources/Documentation/Fanfare.docc"

    /// Files that a worker takes.
    private static let accepted = [
        "", "redis:\nprojects:\n", "projects: { demo: }",
        "projects: { a: { transport: legacy, legacy_body: text, sender_id: 123, topics: { news: 1200000, ~%: 0 } } }",
        "projects: { a: { sender_id: \"0123\", smear: true, iid_endpoint: \"https://localhost:8443/\" } }",
        "redis: { url: \"rediss-sentinel://a,b:1?master=m\", sentinel_tls: yes, durability: safe, safe_replicas: 16 }",
        "allowed_hosts: [gateway.example.com, 10.0.0.1]\nproxy: \"http://10.0.0.1:3128\"", "allowed_hosts: []",
        "admin: { listen: \"[::1]:0\" }", "admin: { listen: \"unix:///run/x\" }", "token_index: false",
        "telemetry: { otlp: \"http://127.0.0.1:4318\", interval_ms: 1000 }",
        "telemetry: { otlp: \"https://collector.example.com/otlp/\", headers_file: headers }",
        "proxy: \"http://us%20er:p%40ss@10.0.0.1:3128/\"",
        "proxy: \"http://p:1\"\nproxy_user: u\nproxy_password_file: f",
        "x-defaults: { a: [1] }\nx-none:\n",
        "http_engine: nghttp2", "http_engine: curl\nprojects: { a: { transport: xmpp, http_engine: nghttp2 } }",
        "gateway: { listen: \"unix:/run/fanfare/gateway.sock\", wait_ms: 0, keys_dir: gateway-keys.d }",
        "gateway: { listen: 0.0.0.0:8443, cert_file: gateway.pem, key_file: gateway.key, max_waiting: 1 }",
        "gateway: { listen: \"[::]:8443\", behind_proxy: true, wait_ms: 60000, max_connections: 1000000 }",
        "worker: { drain_ms: 0, max_in_flight: 100000 }", "log: { level: trace, format: json }",
    ]

    /// Files that a worker refuses for one setting.
    private static let refused = [
        "redsi: {}", "redis: { ulr: \"redis://a\" }", "projects: { demo: { endpont: \"https://localhost\" } }",
        "redis: redis://a", "redis: []", "projects: [demo]", "- redis", "projects: { Demo: {} }",
        "projects: { demo: 1 }",
        "redis: { url: [a] }", "redis: { url: \"http://a\" }", "redis: { durability: fastest }",
        "redis: { safe_replicas: 0 }", "redis: { safe_replicas: many }", "redis: { url: }",
        "worker: { watermark_step: 1001 }", "worker: { watermark_step: 1.5 }", "worker: { flush_ms: {} }",
        "worker: { drain_ms: -1 }",
        "log: { level: loud }", "token_index: maybe", "admin: { listen: here }", "admin: { token: 0123456789abcdef }",
        "redis: { password: x }", "proxy: \"https://a:1\"", "proxy: \"a:1\"", "proxy: \"http://a:1/b\"",
        "allowed_hosts: example.com",
        "allowed_hosts: [\"https://a\"]", "prefix: \"\"", "telemetry: { otlp: \"127.0.0.1:4318\" }",
        "telemetry: { otlp: \"http://127.0.0.1:4318/?key=1\" }", "telemetry: { interval_ms: 999 }", "telemetry: true",
        "projects: { a: { transport: v2 } }", "projects: { a: { sender_id: abc } }", "projects: { a: { port: 65536 } }",
        "projects: { a: { endpoint: \"http://localhost\" } }", "projects: { a: { endpoint: \"https://localhost/x\" } }",
        "projects: { a: { host: \"https://localhost\" } }", "projects: { a: { topics: [news] } }",
        "projects: { a: { topics: { \"a b\": 1 } } }", "projects: { a: { topics: { news: -1 } } }",
        "gateway: { wait_ms: 60001 }", "gateway: { wait_ms: -1 }", "gateway: { max_waiting: 0 }",
        "gateway: { max_connections: 0 }", "gateway: { behind_proxy: maybe }", "gateway: { listen: 8470 }",
        "gateway: { keys_dir: [a] }", "gateway: { keys: a }", "http_engine: nio",
        "projects: { a: { http_engine: h3 } }", "http_engine: [curl]",
        "projects: { a: { smear: 1 } }", "projects: { a: { quota_per_minute: 0 } }",
    ]

    @Test(.enabled(if: python != nil, "FANFARE_SDK_PYTHON names no Python")) func schemaAgreesWithConfigCheck() throws {
        for yaml in Self.accepted {
            #expect(throws: Never.self, "\(yaml)") { try Configuration.load(yaml: yaml) }
        }
        for yaml in Self.refused {
            #expect(throws: ConfigurationError.self, "\(yaml)") { try Configuration.load(yaml: yaml) }
        }
        let verdicts = try Self.verdicts(Self.accepted + Self.refused)
        for (yaml, error) in zip(Self.accepted, verdicts) { #expect(error == nil, "\(yaml): \(error ?? "")") }
        for (yaml, error) in zip(Self.refused, verdicts.dropFirst(Self.accepted.count)) {
            #expect(error != nil, "the schema accepts: \(yaml)")
        }
    }

    @Test(.enabled(if: python != nil, "FANFARE_SDK_PYTHON names no Python")) func schemaAcceptsEveryExample() throws {
        var examples = try Self.pageExamples()
        #expect(examples.count > 3)
        examples.append(("the container's", try Self.text("ops/container/fanfare.yaml")))
        let map = try Self.text("ops/kubernetes/base/configmap.yaml")
        let inner = try #require(map.components(separatedBy: "fanfare.yaml: |\n").last).split(separator: "\n")
        examples.append(("the ConfigMap's", inner.map { $0.dropFirst(4) }.joined(separator: "\n")))
        for template in [ConfigurationTemplate.live(project: "my-app"), .sandbox(project: "my-app", state: "sandbox")] {
            examples.append(("a template", template.text))
        }
        let defaults = Settings.all.filter { !$0.isPerProject && !$0.defaultText.isEmpty }
        for setting in defaults {
            let names = setting.path.split(separator: ".")
            let value = names.reversed().reduce(setting.defaultText) { "{ \($1): \($0) }" }
            let quoted =
                setting.path == "redis.url"
                ? value.replacing(setting.defaultText, with: "\"\(setting.defaultText)\"") : value
            examples.append(("the default of \(setting.path)", quoted))
        }
        for (example, error) in zip(examples, try Self.verdicts(examples.map(\.1))) {
            #expect(ConfigurationFile(yaml: example.1).faults == [], "\(example.0)")
            #expect(error == nil, "\(example.0): \(error ?? "")\n\(example.1)")
        }
    }

    @Test func everySettingIsInTheSchemaAndNoSecretIs() throws {
        let text = SettingSchema.text
        for setting in Settings.all {
            let key = setting.path.split(separator: ".").last ?? ""
            #expect(text.contains("\"\(key)\": {"), "\(setting.path)")
        }
        let descriptions = text.components(separatedBy: "\"description\":").count - 1
        #expect(descriptions == Settings.all.count)
        for secret in ["\"password\":", "\"token\":", "\"sentinel_password\":"] { #expect(!text.contains(secret)) }
    }

    /// The YAML blocks of the pages that have only sections of the configuration.
    private static func pageExamples() throws -> [(String, String)] {
        let folder = Repository.root.appendingPathComponent(pages)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let sections = Set(Settings.all.map { $0.path.prefix { $0 != "." } })
        var examples: [(String, String)] = []
        for file in files.filter({ $0.pathExtension == "md" }).sorted(by: { $0.path < $1.path }) {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /(?m)^```yaml\n((?s).*?)^```/) {
                let yaml = String(match.1)
                let keys = yaml.split(separator: "\n").filter { $0.first?.isLetter == true }.map {
                    $0.prefix { $0 != ":" }
                }
                if !keys.isEmpty, keys.allSatisfy(sections.contains) { examples.append((file.lastPathComponent, yaml)) }
            }
        }
        return examples
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: Repository.root.appendingPathComponent(path), encoding: .utf8)
    }

    /// What the schema says about each YAML text: the error, or nil.
    private static func verdicts(_ texts: [String]) throws -> [String?] {
        let folder = try TemporaryFolder()
        let schema = try folder.write("schema.json", SettingSchema.text)
        let input = try folder.write("input", String(decoding: try JSONEncoder().encode(texts), as: UTF8.self))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(python))
        process.arguments = [Repository.fixture("schema/config_schema.py"), schema]
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: input))
        let output = makePipe()
        process.standardOutput = output
        try startProcess(process)
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        let verdicts = try JSONDecoder().decode([String?].self, from: data)
        try #require(verdicts.count == texts.count)
        return verdicts
    }
}
