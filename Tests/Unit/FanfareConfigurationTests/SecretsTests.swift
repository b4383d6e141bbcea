import FanfareModel
import Foundation
import Testing

@testable import FCMWire
@testable import FanfareConfiguration

@Suite struct SecretsTests {
    private static let account = """
        {"type":"service_account","client_email":"a@b","private_key":"-----BEGIN SECRET","token_uri":"https://localhost:1/token"}
        """

    /// Writes the files and a configuration to a folder, and loads the secrets.
    private func load(
        _ yaml: String,
        _ files: [String: String],
        mode: Int = 0o600,
        environment: [String: String] = [:]
    ) throws -> Secrets {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, text) in files.merging(["fanfare.yaml": yaml], uniquingKeysWith: { first, _ in first }) {
            let path = folder + "/" + name
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        return try Configuration.load(file: folder + "/fanfare.yaml", environment: environment).loadSecrets()
    }

    @Test func pathsStartFromTheConfigurationsFolder() throws {
        let secrets = try load(
            """
            projects:
              a: { credentials: a.json, endpoint: "https://localhost" }
              b: { transport: legacy, server_key_file: b.key }
              c: { transport: xmpp, sender_id: 7, server_key_file: b.key }
            """,
            ["a.json": Self.account, "b.key": "AAAA:key\n"]
        )
        #expect(secrets.credentials == ["a": try Credential.parse(Array(Self.account.utf8))])
        #expect(secrets.serverKeys == ["b": "AAAA:key", "c": "AAAA:key"])
        #expect(secrets.warnings.isEmpty)
        var dumped = "\(secrets) \(String(reflecting: secrets))"
        dump(secrets, to: &dumped)
        #expect(!dumped.contains("AAAA:key"))
    }

    /// Some editors of Windows write a byte order mark at the start of every text file.
    @Test func byteOrderMarkIsNoPartOfAnyTextFile() throws {
        let yaml = """
            projects:
              a: { credentials: a.json, endpoint: "https://localhost" }
              b: { transport: legacy, server_key_file: b.key }
            redis: { password_file: redis }
            admin: { listen: "127.0.0.1:0", token_file: token }
            telemetry: { otlp: "http://127.0.0.1:4318", headers_file: headers }
            proxy: "http://localhost:3128"
            proxy_user: u
            proxy_password_file: proxy

            """
        let files = [
            "fanfare.yaml": yaml, "a.json": Self.account, "b.key": "AAAA:key\r\n", "redis": "p ü\r\n",
            "token": "a-token-of-some-length\n", "headers": "Key: 1\r\n",
            "proxy": "q ü\r\n",
        ]
        let marked = try load(yaml, files.mapValues { "\u{FEFF}" + $0 })
        #expect(marked.credentials == ["a": try Credential.parse(Array(Self.account.utf8))])
        #expect(marked.serverKeys == ["b": "AAAA:key"] && marked.redis.servers?.value == "p ü")
        #expect(marked.adminToken?.value == "a-token-of-some-length" && marked.telemetryHeaders == ["Key: 1"])
        #expect(marked.proxy?.password == "q ü")
    }

    /// TLS libraries read these files themselves.
    @Test(arguments: ["tls: { ca_file: pem }", "redis: { url: \"rediss://h\", cert_file: pem, key_file: key }"])
    func byteOrderMarkBeforePEMIsRefused(setting: String) throws {
        let yaml = "projects: { a: { credentials: a.json, endpoint: \"https://localhost\" } }\n\(setting)\n"
        let files = [
            "a.json": Self.account, "pem": "\u{FEFF}-----BEGIN CERTIFICATE-----\n", "key": "-----BEGIN KEY-----\n",
        ]
        let error = try #require(throws: ConfigurationError.self) { try load(yaml, files) }
        #expect(error.faults.count == 1 && error.faults[0].contains("begins with a byte order mark"), "\(error)")
    }

    private static let telemetry = """
        projects: { a: { credentials: a.json, endpoint: "https://localhost" } }
        telemetry: { otlp: "http://127.0.0.1:4318", headers_file: headers }
        """

    @Test func contentsThatARestartTakesUpAreComparedByTheirSettings() throws {
        let names = ["redis": "password_file", "admin": "token_file", "telemetry": "headers_file", "tls": "ca_file"]
        let yaml =
            "projects: { a: { credentials: a.json, endpoint: \"https://localhost\" } }\n"
            + names.map { "\($0): { \($1): \($0) }\n" }.joined()
        var files = [
            "a.json": Self.account, "redis": "one", "admin": "a-token-of-some-length", "telemetry": "Key: 1",
            "tls": "-----BEGIN CERTIFICATE-----",
        ]
        let first = try load(yaml, files)
        #expect(Set(first.startContents.keys) == Set(names.map { "\($0).\($1)" }))
        #expect(try load(yaml, files).startContents == first.startContents)
        for (name, setting) in names {
            files[name]? += "2"
            let next = try load(yaml, files).startContents
            #expect(next["\(name).\(setting)"] != first.startContents["\(name).\(setting)"], "\(name)")
        }
        // The variable takes precedence, so the file's content does not matter.
        let given = try load(yaml, files, environment: ["FANFARE_REDIS_PASSWORD": "three"])
        #expect(given.startContents["redis.password_file"] == nil)
    }

    @Test func everyNamedFileIsWatched() throws {
        var configuration = Configuration()
        configuration.file = "/f.yaml"
        configuration.projectsFolder = ConfiguredFile(name: "projects_dir", path: "/d")
        func file(_ path: String) -> ConfiguredFile { ConfiguredFile(name: "s", path: path) }
        configuration.projects = [.init(id: "a")]
        configuration.projects[0].credentials = .file(file("/a.json"))
        (configuration.redis.passwordFile, configuration.redis.sentinelPasswordFile) = (file("/p"), file("/sp"))
        (configuration.redis.certificateFile, configuration.redis.keyFile) = (file("/c"), file("/k"))
        (configuration.caFile, configuration.admin.tokenFile) = (file("/ca"), file("/t"))
        configuration.telemetry.headersFile = file("/h")
        #expect(
            configuration.watchedPaths == ["/f.yaml", "/d", "/a.json", "/p", "/sp", "/c", "/k", "/ca", "/t", "/h"]
        )
    }

    @Test func headersForTheCollectorAreLinesOfTheFile() throws {
        let files = ["a.json": Self.account, "headers": "X-Api-Key: SECRET\r\nX-Scope: 1\n"]
        let secrets = try load(Self.telemetry, files)
        #expect(secrets.telemetryHeaders == ["X-Api-Key: SECRET", "X-Scope: 1"])
        #expect(!"\(secrets)".contains("SECRET"))
    }

    @Test(arguments: [
        "", "SECRET", ": SECRET", "X Y: SECRET", "X:  ", "Content-Type: SECRET", "X: SECRET\u{1}", "X: ü",
    ])
    func fileThatHoldsNoHeadersIsRefusedWithoutItsContent(text: String) throws {
        let error = try #require(throws: ConfigurationError.self) {
            try load(Self.telemetry, ["a.json": Self.account, "headers": text])
        }
        #expect(error.faults.contains { $0.hasPrefix("telemetry.headers_file (line 2): must hold 1 to 16") })
        #expect(!"\(error)".contains("SECRET"))
    }

    @Test func filesReadableByOthersWarn() throws {
        let secrets = try load(
            "projects: { a: { credentials: a.json, endpoint: \"https://localhost\" } }",
            ["a.json": Self.account],
            mode: 0o644
        )
        #expect(secrets.warnings.count == 1)
        #expect(secrets.warnings.first?.hasPrefix("projects.a.credentials (line 1): ") == true)
        #expect(secrets.warnings.first?.hasSuffix("chmod 600 it") == true)
    }

    @Test(
        arguments: [
            ("b", "https://localhost", "projects.a.credentials (line 1): the service account of project b: "),
            (
                "example.com:b", "https://localhost",
                "projects.a.credentials (line 1): the service account of project b: "
            ),
            ("example.com:a", "https://localhost", nil), ("a", "https://localhost", nil),
            (nil, "https://localhost", nil),
            (
                "a", "https://fcm.googleapis.com",
                "projects.a.endpoint: Google's, but the credential is a sandbox's (localhost:1)"
            ),
        ] as [(String?, String, String?)]
    )
    func anotherProjectsOrTheSandboxsCredentialWarns(project: String?, endpoint: String, warning: String?) throws {
        let name = project.map { #""project_id":"\#($0)","# } ?? ""
        let file = Self.account.replacing("{\"type\"", with: "{\(name)\"type\"")
        let secrets = try load(
            "projects: { a: { credentials: a.json, endpoint: \"\(endpoint)\" } }",
            ["a.json": file]
        )
        #expect(secrets.warnings.count == (warning == nil ? 0 : 1), "\(secrets.warnings)")
        if let warning { #expect(secrets.warnings.first?.hasPrefix(warning) == true, "\(secrets.warnings)") }
        #expect(!secrets.warnings.joined().contains("SECRET"))
    }

    @Test func faultsOfFilesComeWithTheirWarnings() throws {
        let error = try #require(throws: ConfigurationError.self) {
            try load(
                "projects: { a: { credentials: a.json, legacy_body: text }, b: { credentials: no.json } }",
                ["a.json": Self.account],
                mode: 0o644
            )
        }
        #expect(error.faults.count == 1)
        #expect(error.warnings.contains { $0.hasPrefix("projects.a.legacy_body: ") }, "\(error.warnings)")
        #expect(error.warnings.contains { $0.hasSuffix("chmod 600 it") }, "\(error.warnings)")
    }

    private static let external = """
        {"type":"external_account","audience":"//iam","subject_token_type":"jwt",
        "token_url":"https://sts.googleapis.com/v1/token","credential_source":{"url":"http://localhost:1/t"}}
        """

    @Test(
        arguments: [
            ("projects: { a: { credentials: metadata } }", [:], MetadataServer(), 0),
            ("projects: { a: }", [:], MetadataServer(isAssumed: true), 1),
            (
                "projects: { a: { credentials: metadata } }", ["GCE_METADATA_HOST": "127.0.0.1:8480"],
                MetadataServer(host: "127.0.0.1:8480"), 0
            ),
            (
                "projects: { a: { credentials: metadata } }\nallowed_hosts: [meta.example]",
                ["GCE_METADATA_HOST": "meta.example"], MetadataServer(host: "meta.example"), 0
            ),
        ] as [(String, [String: String], MetadataServer, Int)]
    )
    func metadataServerIsTheWordOrTheDefault(
        yaml: String,
        environment: [String: String],
        server: MetadataServer,
        warnings: Int
    ) throws {
        let secrets = try load(yaml, [:], environment: environment)
        #expect(secrets.credentials == ["a": .metadata(server)])
        #expect(secrets.warnings.count == warnings, "\(secrets.warnings)")
        let text = "none named, so the metadata server of Google Cloud would be used"
        #expect(secrets.warnings.allSatisfy { $0.contains(text) })
    }

    @Test func relativeSubjectTokenFileStartsInTheFolderOfTheCredentialFile() throws {
        let file = Self.external.replacing(#"{"url":"http://localhost:1/t"}"#, with: #"{"file":"t"}"#)
        let secrets = try load("projects: { a: { credentials: a.json } }", ["a.json": file])
        guard case .externalAccount(let account) = secrets.credentials["a"], case .file(let path) = account.source
        else {
            Issue.record("\(secrets.credentials)")
            return
        }
        #expect(path.hasPrefix("/") && path.hasSuffix("/t"))
    }

    @Test func googlesVariableComesBeforeTheMetadataServer() throws {
        let environment = ["GOOGLE_APPLICATION_CREDENTIALS": "/nowhere"]
        let error = try #require(throws: ConfigurationError.self) {
            try load("projects: { a: }", [:], environment: environment)
        }
        #expect(error.faults.first?.contains("(GOOGLE_APPLICATION_CREDENTIALS): No such file") == true, "\(error)")
    }

    @Test(arguments: ["evil.example", "metadata.google.internal@evil.example", "evil.example/metadata.google.internal"])
    func foreignMetadataHostIsRefused(host: String) throws {
        let error = try #require(throws: ConfigurationError.self) {
            try load("projects: { a: { credentials: metadata } }", [:], environment: ["GCE_METADATA_HOST": host])
        }
        #expect(error.faults.first?.hasPrefix("GCE_METADATA_HOST: ") == true && error.faults.count == 1, "\(error)")
    }

    @Test func fileNamedMetadataNeedsItsFolder() throws {
        let secrets = try load(
            "projects: { a: { credentials: ./metadata, endpoint: \"https://localhost\" } }",
            ["metadata": Self.account]
        )
        #expect(secrets.credentials["a"]?.kind == .serviceAccount)
    }

    @Test func loginWithoutAQuotaProjectWarns() throws {
        let user = #"{"type":"authorized_user","client_id":"c","client_secret":"SECRET","refresh_token":"SECRET"}"#
        let secrets = try load("projects: { a: { credentials: u.json } }", ["u.json": user])
        #expect(secrets.warnings.count == 1)
        #expect(secrets.warnings.first?.contains("set-quota-project a") == true, "\(secrets.warnings)")
    }

    struct Row: Sendable {
        var yaml: String
        var content = ""
        var fault: String
    }

    @Test(arguments: [
        Row(yaml: "", fault: "projects: none; name at least one"),
        Row(
            yaml: "projects: { a: { credentials: no.json } }",
            fault: "projects.a.credentials (line 1): No such file or directory; its folder is there"
        ),
        Row(yaml: "projects: { a: { credentials: . } }", fault: ": is a directory"),
        Row(yaml: "projects: { a: { credentials: x } }", content: "{\"private_key\":\"SECRET", fault: "not JSON"),
        Row(yaml: "projects: { a: { credentials: x } }", content: "[]", fault: "must be an object"),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: "{\"type\":\"SECRET\"}",
            fault: "type: must be service_account, external_account"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: "{\"type\":\"authorized_user\",\"client_secret\":\"SECRET\"}",
            fault: "client_id: missing"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: external.replacing("sts.googleapis.com", with: "evil.example"),
            fault: "token_url: host evil.example is not Google's"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: external.replacing("http://localhost", with: "http://sts.googleapis.com"),
            fault: "credential_source.url: plain HTTP to host sts.googleapis.com: only to this machine"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: external.replacing("https://sts", with: "http://sts"),
            fault: "token_url: must start with https://"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: "{\"type\":\"service_account\",\"client_email\":\"a\",\"private_key\":\"\",\"token_uri\":\"u\"}",
            fault: "private_key: missing"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: account.replacing("localhost:1", with: "evil.example"),
            fault: "token_uri: host evil.example is not Google's"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: String(repeating: " ", count: 65_537),
            fault: "more than 65536 bytes"
        ),
        Row(
            yaml: "projects: { a: { transport: legacy } }",
            fault: "projects.a.server_key_file: none named; legacy needs a server key"
        ),
        Row(
            yaml: "projects: { a: { transport: legacy, server_key_file: x } }",
            content: "SECRET\r\nInjected: header",
            fault: "must hold one key"
        ),
        Row(
            yaml: "projects: { a: { transport: xmpp, sender_id: 1 } }",
            fault: "projects.a.server_key_file: none named; xmpp needs a server key"
        ),
        Row(
            yaml: "projects: { a: { transport: xmpp, server_key_file: x } }",
            content: "SECRET",
            fault: "projects.a.sender_id: none; xmpp logs in with it"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }\ntls: { ca_file: no.pem }",
            content: account,
            fault: "tls.ca_file (line 2): "
        ),
    ])
    func invalidFilesAreRefusedWithoutShowingThem(row: Row) throws {
        let error = try #require(throws: ConfigurationError.self) { try load(row.yaml, ["x": row.content]) }
        #expect(error.faults.count == 1)
        #expect(error.description.contains(row.fault), "\(error)")
        #expect(!error.description.contains("SECRET"))
    }

    @Test(arguments: [
        ("redis: { url: \"redis://u:SECRET@h\" }\n", 0o644, true),
        ("redis: { url: \"redis://u:SECRET@h\" }\n", 0o600, false),
        ("redis: { url: \"redis://h\" }\n", 0o644, false), ("redis: { url: \"redis://u@h\" }\n", 0o644, false),
    ])
    func readableConfigurationWithAPasswordWarns(yaml: String, mode: Int, warns: Bool) throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try yaml.write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        let warnings = try Configuration.load(file: file, environment: [:]).warnings
        #expect(
            warnings.contains { $0.hasPrefix("redis.url: the configuration file holds a password") } == warns,
            "\(warnings)"
        )
        #expect(!warnings.joined().contains("SECRET"))
    }

    @Test func passwordOnTheCommandLineWarns() throws {
        for (url, warns) in [("redis://u:SECRET@h", true), ("redis://u@h", false), ("redis://h:1", false)] {
            let warnings = try Configuration.load(file: nil, environment: [:], flags: ["redis.url": url]).warnings
            #expect(warnings.contains { $0.contains("--redis") } == warns, "\(warnings)")
            #expect(!warnings.joined().contains("SECRET"))
        }
    }

    @Test func missingOrEndlessConfigurationIsRefused() throws {
        let missing = try #require(throws: ConfigurationError.self) {
            try Configuration.load(file: "/no/such/file", environment: [:])
        }
        #expect(missing.faults.count == 1)
        #expect(
            missing.faults == ["--config /no/such/file: No such file or directory"]
        )
        let endless = try #require(throws: ConfigurationError.self) {
            try Configuration.load(file: "/dev/zero", environment: [:])
        }
        #expect(endless.faults == ["--config /dev/zero: more than 1048576 bytes"])
    }
}
