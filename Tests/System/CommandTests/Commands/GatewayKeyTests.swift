import FanfareConfiguration
import FanfareCore
import FanfareJSON
import Foundation
import OpenSSLKit
import TestSupport
import Testing

@testable import fanfare

/// `fanfare gateway key`, which needs neither Redis nor a gateway.
@Suite struct GatewayKeyTests {
    private let folder: TemporaryFolder
    private let file: String
    private var keysFolder: String { folder.file("keys.d") }

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.write("key", "AAAA")
        file = try folder.write(
            "fanfare.yaml",
            """
            projects: { demo: { transport: legacy, server_key_file: key } }
            gateway: { keys_dir: keys.d }
            """
        )
    }

    private func run(_ arguments: String...) async throws -> CommandRun {
        try await CommandRun(["gateway", "key"] + arguments + ["-c", file])
    }

    private func keys() throws -> GatewayKeys {
        try GatewayKeys.read(ConfiguredFile(name: "keys", path: keysFolder))
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func objects(_ text: String) throws -> [JSONObject] {
        try text.split(separator: "\n").map {
            try #require(try JSONParser.parse(Array($0.utf8), limits: JSONLimits()).object)
        }
    }

    @Test func keyIsPrintedOnceAndItsDigestIsStored() async throws {
        let made = try await run("add", "shop", "--project", "demo")
        #expect(made.status == 0 && made.err.contains("shop.yaml in gateway.keys_dir holds its SHA-256"), "\(made.err)")
        let text = made.out.dropLast()
        #expect(text.wholeMatch(of: /ffk_[A-Za-z0-9_-]{43}/) != nil, "standard output is the key alone")
        #expect(try mode(keysFolder) == 0o700)
        #expect(try mode(keysFolder + "/shop.yaml") == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: keysFolder) == ["shop.yaml"])
        let keys = try keys()
        #expect(keys.faults == [] && keys.concerns == [])
        let key = try keys.table.find(KeyDigest(MessageDigest.sha256(Array(text.utf8))))
        #expect(key.name == "shop" && key.projects == ["demo"] && key.rights == [.push])
        #expect(key.rate == nil && key.maximumPriority == 9)
        let stored = try String(contentsOfFile: keysFolder + "/shop.yaml", encoding: .utf8)
        #expect(!stored.contains(text.dropFirst(4)) && !made.err.contains(text.dropFirst(4)))
    }

    @Test func everyKeyIsAnother() async throws {
        let first = try await run("add", "a", "--project", "demo")
        let second = try await run("add", "b", "--project", "demo")
        #expect(first.status == 0 && second.status == 0 && first.out != second.out)
    }

    @Test func rightsRateAndProjectsAreStored() async throws {
        let made = try await run(
            "add",
            "null",
            "--project",
            "demo",
            "--project",
            "007",
            "--rights",
            "operate,push",
            "--rate",
            "600",
            "--json"
        )
        #expect(
            made.status == 0 && made.err.contains("--project 007: the configuration has no such project"),
            "\(made.err)"
        )
        let object = try #require(try objects(made.out).first)
        #expect(object["key"]?.string?.hasPrefix("ffk_") == true && object["file"]?.string == "null.yaml")
        let key = try #require(try keys().entries.first?.key)
        #expect(key.name == "null" && key.projects == ["demo", "007"])
        #expect(key.rights == [.push, .operate] && key.rate == 600)
    }

    @Test func serviceAccountFileHasThePrivateKeyAndTheGatewayThePublicOne() async throws {
        let account = folder.file("app.json")
        let arguments = ["--project", "demo", "--project", "eu", "--service-account", account]
        let made = try await CommandRun(
            ["gateway", "key", "add", "app", "-c", file] + arguments + ["--url", "https://push.example.com:8443/"]
        )
        #expect(made.status == 0 && made.out == account + "\n", "\(made.err)")
        #expect(try mode(account) == 0o600 && mode(keysFolder + "/app.yaml") == 0o600)
        let text = try String(contentsOfFile: account, encoding: .utf8)
        let json = try #require(try objects(text).first)
        #expect(json["type"] == "service_account" && json["project_id"] == "demo")
        #expect(json["token_uri"] == "https://push.example.com:8443/token")
        let stored = try String(contentsOfFile: keysFolder + "/app.yaml", encoding: .utf8)
        #expect(!stored.contains("PRIVATE"))
        let keys = try keys()
        #expect(keys.faults == [] && keys.concerns == [])
        let key = try #require(keys.entries.first?.key)
        #expect(json["client_email"]?.string == GatewayKey.email(ofAccount: key.name))
        #expect(key.projects == ["demo", "eu"])
        let signer = try RS256Signer(pem: Array(try #require(json["private_key"]?.string).utf8))
        let verifier = try RS256Verifier(publicKeyPEM: try #require(key.publicKey?.pem))
        #expect(verifier.isValid(try signer.sign([1]), of: [1]))
        let list = try objects(try await run("ls", "--json").out)
        #expect(list.first?["client_email"] == "app@fanfare-gateway.internal")
        // Neither file is replaced.
        let again = try await CommandRun(
            ["gateway", "key", "add", "other", "-c", file] + arguments + ["--url", "https://push.example.com"]
        )
        #expect(again.status == 1 && again.err.contains("is there already and is not overwritten"), "\(again.err)")
        #expect(try String(contentsOfFile: account, encoding: .utf8) == text)
        #expect(try FileManager.default.contentsOfDirectory(atPath: keysFolder) == ["app.yaml"])
    }

    @Test func serviceAccountNeedsAURLThatClientsCanTrust() async throws {
        for more in [["--service-account", "a.json"], ["--url", "https://a"]] {
            let run = try await CommandRun(["gateway", "key", "add", "app", "--project", "demo", "-c", file] + more)
            #expect(run.status == 64 && run.err.contains("--service-account and --url go together"), "\(run.err)")
        }
        for url in ["http://push.example.com", "https://a/path", "a"] {
            let run = try await run("add", "app", "--project", "demo", "--service-account", "a.json", "--url", url)
            #expect(run.status == 64 && run.err.contains("--url: https://HOST"), "\(run.err)")
        }
    }

    @Test func nameInUseIsRefusedAndNothingIsChanged() async throws {
        _ = try await run("add", "shop", "--project", "demo")
        let before = try String(contentsOfFile: keysFolder + "/shop.yaml", encoding: .utf8)
        let again = try await run("add", "shop", "--project", "demo")
        #expect(
            again.status == 1 && again.out.isEmpty && again.err.contains("fanfare gateway key remove shop"),
            "\(again.err)"
        )
        // Another key's file has the name.
        try FileManager.default.moveItem(atPath: keysFolder + "/shop.yaml", toPath: keysFolder + "/crm.yaml")
        let other = try await run("add", "crm", "--project", "demo")
        #expect(other.status == 1 && other.out.isEmpty && other.err.contains("crm.yaml cannot be made (File exists)"))
        #expect(try String(contentsOfFile: keysFolder + "/crm.yaml", encoding: .utf8) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: keysFolder) == ["crm.yaml"], "no draft is left")
    }

    @Test func lsPrintsNamesAndRightsButNoKey() async throws {
        let made = try await run("add", "shop", "--project", "demo", "--rights", "push,read", "--rate", "60")
        _ = try await run("add", "crm", "--project", "demo")
        let table = try await run("ls")
        #expect(table.status == 0 && table.err.isEmpty, "\(table.err)")
        let lines = table.out.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(lines[0].starts(with: ["name", "projects", "rights", "rate/min"]))
        #expect(lines[1] == ["crm", "demo", "push", "-", "9", "crm.yaml"])
        #expect(lines[2] == ["shop", "demo", "push,read", "60", "9", "shop.yaml"])
        let objects = try objects(try await run("ls", "--json").out)
        #expect(objects.map { $0["name"]?.string } == ["crm", "shop"])
        #expect(objects[0]["rate"] == nil && objects[1]["rate"]?.number?.int64 == 60)
        #expect(!table.out.contains(made.out.dropFirst(4).dropLast()))
    }

    @Test func lsPrintsGoodKeysAndExitsWith78ForABadOne() async throws {
        _ = try await run("add", "shop", "--project", "demo")
        _ = try folder.write("keys.d/bad.yaml", "name: bad\nsha256: 00\nprojects: [demo]\n")
        let list = try await run("ls")
        #expect(list.status == 78 && list.out.contains("shop"), "\(list.err)")
        #expect(list.err.contains("gateway.keys_dir.sha256 (bad.yaml line 2): must be 64 hexadecimal digits"))
    }

    @Test func removedKeyIsGone() async throws {
        _ = try await run("add", "shop", "--project", "demo")
        _ = try await run("add", "crm", "--project", "demo")
        let removed = try await run("remove", "shop", "--json")
        #expect(removed.status == 0, "\(removed.err)")
        #expect(try objects(removed.out).first?["outcome"]?.string == "removed")
        #expect(try keys().entries.map(\.key.name) == ["crm"])
        let again = try await run("remove", "shop")
        #expect(again.status == 1 && again.err.contains("`fanfare gateway key ls` lists the keys"), "\(again.err)")
    }

    @Test func removalWarnsOfFilesWithAFault() async throws {
        _ = try await run("add", "shop", "--project", "demo")
        _ = try folder.write("keys.d/bad.yaml", "name: bad\nsha256: 00\nprojects: [demo]\n")
        let removed = try await run("remove", "shop")
        #expect(removed.status == 0 && removed.out == "key shop: removed\n")
        #expect(
            removed.err.hasPrefix("fanfare: warning: gateway.keys_dir.sha256 (bad.yaml line 2): must be 64"),
            "\(removed.err)"
        )
    }

    @Test func absentFolderIsNamedWithItsRemedy() async throws {
        for line in [["ls"], ["remove", "shop"]] {
            let run = try await CommandRun(["gateway", "key"] + line + ["-c", file])
            #expect(run.status == 78 && run.err.contains("`fanfare gateway key add` makes it"), "\(run.err)")
        }
        let none = try await CommandRun(["gateway", "key", "add", "shop", "--project", "demo", "-c", "/dev/null"])
        #expect(none.status == 78 && none.out.isEmpty, "\(none.err)")
        #expect(none.err.contains("gateway.keys_dir: none; name a folder in the configuration file"), "\(none.err)")
        let nowhere = try await CommandRun(
            ["gateway", "key", "add", "shop", "--project", "demo", "-c", "/dev/null"],
            environment: ["FANFARE_GATEWAY_KEYS_DIR": folder.file("gone/keys.d")]
        )
        #expect(nowhere.status == 1 && nowhere.out.isEmpty && nowhere.err.contains("cannot be made (No such file"))
    }

    /// A key that is pasted in place of a name, or beside one.
    @Test func keyOnTheCommandLineIsNotRepeated() async throws {
        let key = "ffk_" + String(repeating: "kX9_", count: 10) + "kX9"
        for line in [
            ["remove", key], ["add", key, "--project", "demo"], ["remove", "shop", key], [key],
            ["add", "shop", "--project", key], ["ls", "--\(key)"],
        ] {
            let run = try await CommandRun(["gateway", "key"] + line + ["-c", file])
            #expect(run.status == 64 && !(run.out + run.err).contains(key), "\(line): \(run.err)")
        }
    }

    @Test func configCheckReadsTheKeys() async throws {
        _ = try await run("add", "shop", "--project", "demo")
        let good = try await CommandRun(["config", "check", "-c", file])
        #expect(good.status == 0 && good.out.contains("\ngateway 127.0.0.1:8470: 1 key\n"), "\(good.out)\(good.err)")
        let json = try objects(try await CommandRun(["config", "check", "--json", "-c", file]).out)
        #expect(json.first?["gateway"]?.object?["keys"]?.number?.int64 == 1)
        _ = try folder.write("keys.d/bad.yaml", "name: shop\n")
        let bad = try await CommandRun(["config", "check", "-c", file])
        #expect(bad.status == 78 && bad.err.contains("gateway.keys_dir.sha256 (bad.yaml): none"), "\(bad.err)")
    }
}
