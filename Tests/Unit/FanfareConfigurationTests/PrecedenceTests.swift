import FanfareModel
import Testing

@testable import FanfareConfiguration

@Suite struct PrecedenceTests {
    @Test func emptyConfigurationHasDefaults() throws {
        let configuration = try Configuration.load(file: nil, environment: [:])
        #expect(configuration.redis.url.value == "redis://127.0.0.1:6379/0")
        #expect(configuration.prefix == "fanfare")
        #expect(configuration.projects.isEmpty)
        #expect(configuration.worker.maximumInFlight == 1_000)
        #expect(configuration.worker.drainMs == 25_000)
        #expect(configuration.worker.leaseMs == 10_000)
        #expect(configuration.worker.renewMs == 2_000)
        #expect(configuration.worker.flushMs == 5)
        #expect(configuration.retention.jobHours == 168)
        #expect(configuration.retention.dedupeHours == 24)
        #expect(configuration.admin == Configuration.Admin())
        #expect(configuration.warnings.isEmpty)
    }

    struct Row: Sendable {
        var flag: String?
        var own: String?
        var shared: String?
        var file: String?
        var expected: String
    }

    @Test(arguments: [
        Row(flag: "unix:///f", own: "unix:///o", shared: "unix:///s", file: "unix:///y", expected: "unix:///f"),
        Row(own: "unix:///o", shared: "unix:///s", file: "unix:///y", expected: "unix:///o"),
        Row(shared: "unix:///s", file: "unix:///y", expected: "unix:///s"),
        Row(own: "", shared: "", file: "unix:///y", expected: "unix:///y"),
        Row(expected: "redis://127.0.0.1:6379/0"),
    ])
    func flagPrecedesEnvironmentPrecedesFilePrecedesDefault(row: Row) throws {
        var environment: [String: String] = [:]
        environment["FANFARE_REDIS_URL"] = row.own
        environment["REDIS_URL"] = row.shared
        let configuration = try Configuration.load(
            yaml: row.file.map { "redis: { url: \"\($0)\" }" } ?? "",
            environment: environment,
            flags: row.flag.map { ["redis.url": $0] } ?? [:]
        )
        #expect(configuration.redis.url.value == row.expected)
    }

    @Test(arguments: Settings.all.map(\.path))
    func everySettingIsAFileKeyAndAVariable(name: String) throws {
        let setting = try #require(Settings.all.first { $0.path == name })
        let path = setting.path(project: "demo")
        let text = Self.example(setting)
        let nested = path.split(separator: ".").reversed().reduce(Self.yaml(setting, text)) { "{ \($1): \($0) }" }
        let file = ConfigurationFile(yaml: nested)
        #expect(file.faults.isEmpty)
        #expect(file.values[path] == SourcedValue(texts: [text], source: .file(line: 1)))

        let variable = Setting.environmentName(path: path)
        var merger = SettingMerger(
            file: ConfigurationFile(yaml: "projects: { demo: {} }"),
            environment: [variable: text],
            flags: [:]
        )
        let values = merger.merge()
        #expect(values[path] == SourcedValue(texts: [text], source: .environment(variable)))
        #expect(merger.faults.isEmpty)
    }

    @Test func projectVariableSetsOnlyItsProject() throws {
        let configuration = try Configuration.load(
            yaml: "projects: { a: {}, my-app: { endpoint: https://localhost:1 } }",
            environment: ["FANFARE_PROJECTS_MY_APP_ENDPOINT": "https://127.0.0.1:9/"]
        )
        #expect(configuration.projects.map(\.id) == ["a", "my-app"])
        #expect(configuration.projects.map(\.endpoint) == ["https://fcm.googleapis.com", "https://127.0.0.1:9"])
    }

    /// `worker.window` is the former name of `worker.watermark_step`.
    @Test func formerNameIsReadFromFileAndVariable() throws {
        let former = "worker: { window: 64 }"
        #expect(try Configuration.load(yaml: former).worker.watermarkStep == 64)
        let fromVariable = try Configuration.load(yaml: former, environment: ["FANFARE_WORKER_WINDOW": "32"])
        #expect(fromVariable.worker.watermarkStep == 32 && fromVariable.warnings.isEmpty)
        let variables = ["FANFARE_WORKER_WINDOW": "32", "FANFARE_WORKER_WATERMARK_STEP": "16"]
        #expect(try Configuration.load(yaml: former, environment: variables).worker.watermarkStep == 16)
    }

    @Test func projectTakesTheEngineOfAllProjectsUnlessItNamesItsOwn() throws {
        let projects = "projects: { a: {}, b: { http_engine: curl }, c: { transport: xmpp, http_engine: nghttp2 } }"
        func engines(_ yaml: String, _ environment: [String: String] = [:]) throws -> [HTTPEngine] {
            try Configuration.load(yaml: yaml + projects, environment: environment).projects.map(\.httpEngine)
        }
        #expect(try engines("") == [.curl, .curl, .nghttp2])
        #expect(try engines("http_engine: nghttp2\n") == [.nghttp2, .curl, .nghttp2])
        #expect(try engines("", ["FANFARE_HTTP_ENGINE": "nghttp2"]) == [.nghttp2, .curl, .nghttp2])
        let own = ["FANFARE_PROJECTS_A_HTTP_ENGINE": "curl", "FANFARE_PROJECTS_B_HTTP_ENGINE": "nghttp2"]
        #expect(try engines("http_engine: nghttp2\n", own) == [.curl, .nghttp2, .nghttp2])
    }

    @Test func projectsCanComeFromTheEnvironment() throws {
        let configuration = try Configuration.load(
            file: nil,
            environment: [
                "FANFARE_PROJECTS": "two, one", "FANFARE_PROJECTS_ONE_TRANSPORT": "legacy",
                "GOOGLE_APPLICATION_CREDENTIALS": "key.json",
            ]
        )
        #expect(configuration.projects.map(\.id) == ["one", "two"])
        #expect(configuration.projects[0].transport == .legacy)
        #expect(configuration.projects[1].credentials?.file?.path == "key.json")
        #expect(configuration.warnings.isEmpty)
    }

    @Test func topicSizesAreReadFromFileOrVariable() throws {
        let yaml = "projects: { a: { topics: { news: 1200000, \"a%20b~c\": 0 } }, b: {}, c: { topics: {} } }"
        let file = try Configuration.load(yaml: yaml, environment: [:])
        #expect(file.projects.map(\.topics) == [["news": 1_200_000, "a%20b~c": 0], [:], [:]])
        let variable = "FANFARE_PROJECTS_A_TOPICS"
        let other = try Configuration.load(yaml: yaml, environment: [variable: "sport=5, news=7"])
        #expect(other.projects[0].topics == ["sport": 5, "news": 7])
        for text in ["news", "news=", "news=x", "=7", "news=1,news=2", "news=1000000000001"] {
            #expect(throws: ConfigurationError.self, "\(text)") {
                try Configuration.load(yaml: yaml, environment: [variable: text])
            }
        }
    }

    @Test func projectSettingsAreRead() throws {
        let configuration = try Configuration.load(
            yaml: """
                projects:
                  a: {}
                  b: { transport: legacy, legacy_body: text, sender_id: 123456789012, iid_endpoint: https://localhost:1/ }
                  c: { transport: xmpp, host: "[::1]", port: 5236, sender_id: "0123" }
                  d: { topic_api: v1 }
                """
        )
        let projects = configuration.projects
        #expect(projects.map(\.legacyBody) == [.json, .text, .json, .json])
        #expect(projects.map(\.topicAPI) == [.iid, .iid, .iid, .v1])
        #expect(projects.map(\.senderID) == [nil, "123456789012", "0123", nil])
        #expect(projects.map(\.iidEndpoint)[..<2] == ["https://iid.googleapis.com", "https://localhost:1"])
        let google = "https://fcm.googleapis.com"
        #expect(projects.map(\.destination) == [google, google, "[::1]:5236", google])
        #expect(projects[0].xmppHost == "fcm-xmpp.googleapis.com" && projects[0].xmppPort == 5_235)
        #expect(configuration.warnings.isEmpty)
    }

    /// Subscriptions are changed at the endpoint of the messages by default.
    @Test(arguments: [
        ("", "https://iid.googleapis.com"), ("endpoint: https://localhost:8443/", "https://localhost:8443"),
        ("endpoint: https://fcm.googleapis.com:443", "https://iid.googleapis.com"),
        ("endpoint: 'https://[::1]:1', iid_endpoint: https://iid.googleapis.com", "https://iid.googleapis.com"),
    ])
    func iidEndpointFollowsTheEndpoint(yaml: String, expected: String) throws {
        let configuration = try Configuration.load(yaml: "projects: { a: { \(yaml) } }")
        #expect(configuration.projects.map(\.iidEndpoint) == [expected])
    }

    @Test func legacyBodyWithAnotherTransportWarns() throws {
        let configuration = try Configuration.load(yaml: "projects: { a: { legacy_body: text } }")
        #expect(configuration.warnings == ["projects.a.legacy_body: text has no effect with transport v1"])
    }

    @Test func googleVariableIsUsedOnlyWithoutCredentials() throws {
        let configuration = try Configuration.load(
            yaml: "projects: { a: { credentials: own.json }, b: {} }",
            directory: "/etc/fanfare/",
            environment: ["GOOGLE_APPLICATION_CREDENTIALS": "google.json"]
        )
        #expect(configuration.projects.map { $0.credentials?.file?.path } == ["/etc/fanfare/own.json", "google.json"])
    }

    @Test func ambiguousVariableIsRefused() throws {
        #expect(throws: ConfigurationError.self) {
            try Configuration.load(
                yaml: "projects: { a: {}, a-iid: {} }",
                environment: ["FANFARE_PROJECTS_A_IID_ENDPOINT": "https://localhost"]
            )
        }
        let unset = try Configuration.load(yaml: "projects: { a: {}, a-iid: {} }")
        #expect(unset.projects.count == 2)
    }

    @Test func unknownVariablesWarnUnlessAPlatformSetsThem() throws {
        let configuration = try Configuration.load(
            file: nil,
            environment: ["FANFARE_REDSI_URL": "x", "FANFARE_SERVICE_HOST": "10.0.0.1", "FANFARE_PORT_80_TCP": "x"]
        )
        #expect(
            configuration.warnings
                == ["FANFARE_REDSI_URL: no setting has this variable; did you mean FANFARE_REDIS_URL?"]
        )
    }

    /// Kubernetes sets these variables in every pod of a namespace, whatever the service's name.
    @Test(arguments: [
        "FANFARE", "FANFARE_DASHBOARD", "FANFARE_PROJECTS", "FANFARE_PROJECTS_DEMO", "FANFARE_PROXY", "FANFARE_REDIS",
    ])
    func serviceLinksOfKubernetesAreNoSettings(service: String) throws {
        let configuration = try Configuration.load(
            yaml: "projects: { demo: {} }",
            environment: [
                "\(service)_SERVICE_HOST": "10.0.48.109", "\(service)_SERVICE_PORT": "8490",
                "\(service)_SERVICE_PORT_HTTP": "8490", "\(service)_PORT": "tcp://10.0.48.109:8490",
                "\(service)_PORT_8490_TCP": "tcp://10.0.48.109:8490", "\(service)_PORT_8490_TCP_PROTO": "tcp",
                "\(service)_PORT_8490_TCP_PORT": "8490", "\(service)_PORT_8490_TCP_ADDR": "10.0.48.109",
                "\(service)_PORT_53_UDP": "udp://10.0.48.109:53",
            ]
        )
        #expect(configuration.warnings.isEmpty && configuration.projects.map(\.id) == ["demo"])
        #expect(configuration.projects[0] == Configuration.Project(id: "demo"))
    }

    @Test func settingsOfAProjectNamedLikeAServiceAreRead() throws {
        let configuration = try Configuration.load(
            yaml: "projects: { my-service: { transport: xmpp } }",
            environment: [
                "FANFARE_PROJECTS_MY_SERVICE_HOST": "localhost", "FANFARE_PROJECTS_MY_SERVICE_PORT": "5236",
            ]
        )
        #expect(configuration.projects[0].xmppHost == "localhost" && configuration.projects[0].xmppPort == 5_236)
    }

    @Test func mergeKeysAndKeysForDefaultsAreRead() throws {
        let configuration = try Configuration.load(
            yaml: """
                x-defaults: &d { quota_per_minute: 1000, active_fanouts: 2 }
                x-nothing:
                projects:
                  a: *d
                  b:
                    <<: *d
                    quota_per_minute: 2000
                """
        )
        #expect(configuration.projects.map(\.quotaPerMinute) == [1_000, 2_000])
        #expect(configuration.projects.map(\.activeFanouts) == [2, 2])
    }

    /// A valid value that is not the default.
    private static func example(_ setting: Setting) -> String {
        switch setting.kind {
        case .text, .file: return "other"
        case .integer(let range): return String(range.upperBound)
        case .choice(let choices): return choices[choices.count - 1]
        case .origin: return "https://localhost:8443"
        case .host: return "localhost"
        case .digits: return "123456789012"
        case .redisURL: return "unix:///run/redis.sock"
        case .proxy: return "http://proxy:3128"
        case .collector: return "http://127.0.0.1:4318"
        case .address: return "[::1]:0"
        case .hosts: return "fcm.example.org"
        case .sizes: return "news=1200000"
        }
    }

    private static func yaml(_ setting: Setting, _ text: String) -> String {
        if case .hosts = setting.kind { return "[\(text)]" }
        if case .sizes = setting.kind { return "{ \(text.replacing("=", with: ": ")) }" }
        return "\"\(text)\""
    }
}
