import Foundation
import Testing

@testable import FanfareConfiguration

@Suite struct SecretsTests {
    private static let account = """
        {"type":"service_account","client_email":"a@b","private_key":"SECRET","token_uri":"https://localhost:1/token"}
        """

    /// Writes the files and a configuration to a folder, and loads the secrets.
    private func load(_ yaml: String, _ files: [String: String], mode: Int = 0o600) throws -> Secrets {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, text) in files.merging(["fanfare.yaml": yaml], uniquingKeysWith: { first, _ in first }) {
            let path = folder + "/" + name
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        return try Configuration.load(file: folder + "/fanfare.yaml", environment: [:]).loadSecrets()
    }

    @Test func pathsStartFromTheConfigurationsFolder() throws {
        let secrets = try load(
            """
            projects:
              a: { credentials: a.json }
              b: { transport: legacy, server_key_file: b.key }
              c: { transport: xmpp, sender_id: 7, server_key_file: b.key }
            """,
            ["a.json": Self.account, "b.key": "AAAA:key\n"]
        )
        #expect(secrets.serviceAccounts["a"] == Array(Self.account.utf8))
        #expect(secrets.serverKeys == ["b": "AAAA:key", "c": "AAAA:key"])
        #expect(secrets.warnings.isEmpty)
        var dumped = "\(secrets) \(String(reflecting: secrets))"
        dump(secrets, to: &dumped)
        #expect(!dumped.contains("AAAA:key"))
    }

    @Test func filesReadableByOthersWarn() throws {
        let secrets = try load("projects: { a: { credentials: a.json } }", ["a.json": Self.account], mode: 0o644)
        #expect(secrets.warnings.count == 1)
        #expect(secrets.warnings.first?.hasPrefix("projects.a.credentials (line 1): ") == true)
        #expect(secrets.warnings.first?.hasSuffix("chmod 600 it") == true)
    }

    struct Row: Sendable {
        var yaml: String
        var content = ""
        var problem: String
    }

    @Test(arguments: [
        Row(yaml: "", problem: "projects: none; name at least one"),
        Row(yaml: "projects: { a: }", problem: "projects.a.credentials: none named; v1 needs a service account file"),
        Row(
            yaml: "projects: { a: { credentials: no.json } }",
            problem: "projects.a.credentials (line 1): No such file or directory; its folder is there"
        ),
        Row(yaml: "projects: { a: { credentials: . } }", problem: ": is a directory"),
        Row(yaml: "projects: { a: { credentials: x } }", content: "{\"private_key\":\"SECRET", problem: "not JSON"),
        Row(yaml: "projects: { a: { credentials: x } }", content: "[]", problem: "must be a JSON object"),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: "{\"type\":\"authorized_user\",\"private_key\":\"SECRET\"}",
            problem: "type: must be service_account"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: "{\"type\":\"service_account\",\"client_email\":\"a\",\"private_key\":\"\",\"token_uri\":\"u\"}",
            problem: "private_key: missing"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: account.replacing("localhost:1", with: "evil.example"),
            problem: "token_uri: host evil.example is not Google's"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }",
            content: String(repeating: " ", count: 65_537),
            problem: "more than 65536 bytes"
        ),
        Row(
            yaml: "projects: { a: { transport: legacy } }",
            problem: "projects.a.server_key_file: none named; legacy needs a server key"
        ),
        Row(
            yaml: "projects: { a: { transport: legacy, server_key_file: x } }",
            content: "SECRET\r\nInjected: header",
            problem: "must hold one key"
        ),
        Row(
            yaml: "projects: { a: { transport: xmpp, sender_id: 1 } }",
            problem: "projects.a.server_key_file: none named; xmpp needs a server key"
        ),
        Row(
            yaml: "projects: { a: { transport: xmpp, server_key_file: x } }",
            content: "SECRET",
            problem: "projects.a.sender_id: none; xmpp logs in with it"
        ),
        Row(
            yaml: "projects: { a: { credentials: x } }\ntls: { ca_file: no.pem }",
            content: account,
            problem: "tls.ca_file (line 2): "
        ),
    ])
    func invalidFilesAreRefusedWithoutShowingThem(row: Row) throws {
        let error = try #require(throws: ConfigurationError.self) { try load(row.yaml, ["x": row.content]) }
        #expect(error.problems.count == 1)
        #expect(error.description.contains(row.problem), "\(error)")
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
        #expect(missing.problems.count == 1)
        #expect(
            missing.problems.first?.hasPrefix("--config: No such file or directory; its folder is not there") == true
        )
        #expect(!missing.description.contains("/no/such"))
        let endless = try #require(throws: ConfigurationError.self) {
            try Configuration.load(file: "/dev/zero", environment: [:])
        }
        #expect(endless.problems == ["--config: more than 1048576 bytes"])
    }
}
