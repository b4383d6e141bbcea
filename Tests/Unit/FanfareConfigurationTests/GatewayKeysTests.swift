import FanfareCore
import Foundation
import TestSupport
import Testing

@testable import FanfareConfiguration

/// The files of `gateway.keys_dir`.
@Suite struct GatewayKeysTests {
    private static let secret = "ffk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func digest(_ letter: Character) -> String { String(repeating: letter, count: 64) }

    private static func proof(_ letter: Character) -> GatewayKey.Proof? {
        KeyDigest(hexadecimal: digest(letter)).map { .digest($0) }
    }

    private static func file(_ name: String, _ letter: Character, _ more: String = "") -> String {
        "name: \(name)\nsha256: \(digest(letter))\nprojects: [demo]\n\(more)"
    }

    private func write(_ files: [String: String]) throws {
        for (name, text) in files {
            let file = try folder.write(name, text)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        }
    }

    private func read(_ files: [String: String]) throws -> GatewayKeys {
        try write(files)
        return try GatewayKeys.read(ConfiguredFile(name: "gateway.keys_dir (line 3)", path: folder.path))
    }

    @Test func eachFileIsAKey() throws {
        let full = """
            name: crm
            sha256: \(Self.digest("B"))
            projects: [demo, eu]
            rights: [push, read, operate]
            rate: 600
            priority_max: 0
            """
        let keys = try read(["a.yaml": Self.file("shop", "a"), "b.yaml": full, ".c.yaml.1": "x: ["])
        #expect(keys.faults == [] && keys.concerns == [])
        #expect(keys.entries.map(\.file) == ["a.yaml", "b.yaml"])
        let shop = try #require(keys.table.keys.first)
        #expect(shop.name == "shop" && shop.projects == ["demo"] && shop.proof == Self.proof("a"))
        #expect(shop.rights == [.push] && shop.rate == nil && shop.maximumPriority == 9, "defaults")
        let crm = try #require(keys.table.keys.last)
        #expect(crm.projects == ["demo", "eu"] && crm.rights == [.push, .read, .operate])
        #expect(crm.rate == 600 && crm.maximumPriority == 0 && crm.proof == Self.proof("b"))
    }

    /// Of 2,048 bits, as openssl writes it.
    private static let publicKey: String = {
        let begin = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA"
        let text = begin + String(repeating: "q", count: 392 - begin.count - 8) + "IDAQAB"
        let lines = ["-----BEGIN PUBLIC KEY-----", text + "qq", "-----END PUBLIC KEY-----"]
        return "public_key: |\n" + lines.map { "  \($0)\n" }.joined()
    }()

    @Test func publicKeyStandsInPlaceOfTheDigest() throws {
        let keys = try read(["app.yaml": "name: app\n\(Self.publicKey)projects: [demo]\n"])
        #expect(keys.faults == [])
        let pem = try #require(keys.table.keys.first?.publicKey?.pem)
        #expect(pem.hasPrefix("-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0B"))
    }

    @Test(arguments: [
        ("\(one)\(publicKey)", ".public_key (k.yaml line 4): given beside sha256; a key has one of both"),
        ("name: a\nprojects: [b]\npublic_key: x\n", ".public_key (k.yaml line 3): must be a public RSA key of 2048"),
        (
            "name: a\nprojects: [b]\n\(publicKey.replacing("PUBLIC", with: "PRIVATE"))",
            ".public_key (k.yaml line 3): holds the private key; `fanfare gateway key add"
        ),
    ])
    func publicKeyIsChecked(yaml: String, fault: String) throws {
        let keys = try read(["k.yaml": yaml])
        #expect(keys.faults.count == 1 && keys.faults[0].hasPrefix("gateway.keys_dir" + fault), "\(keys.faults)")
        #expect(!keys.faults.joined().contains("MIIB"))
    }

    @Test func publicKeyOfTwoFilesIsAFault() throws {
        let keys = try read([
            "a.yaml": "name: a\n\(Self.publicKey)projects: [b]\n",
            "b.yaml": "name: b\n\(Self.publicKey)projects: [b]\n",
        ])
        #expect(
            keys.faults == ["gateway.keys_dir.public_key (b.yaml): a.yaml has the same key; remove one of them"]
        )
    }

    private static let one = "name: a\nsha256: \(digest("a"))\nprojects: [demo]\n"

    private static let faulty: [(yaml: String, fault: String)] = [
        ("[a]", " (k.yaml): must be a mapping of name, sha256"), ("", " (k.yaml): must be a mapping of name, sha256"),
        ("a: [", " (k.yaml): not YAML: line"), ("rate: 1\nrate: 2", " (k.yaml): key given twice: rate"),
        (String(repeating: "#", count: 70_000), " (k.yaml): more than 65536 bytes"),
        ("\(one)raet: 1", ".raet (k.yaml line 4): unknown field; did you mean rate?"),
        ("\(one)\(secret): 1", " (k.yaml line 4): unknown field"),
        ("\(one)rate: 0", ".rate (k.yaml line 4): must be a whole number from 1 to 1000000000, or leave it out for no"),
        ("\(one)rate: many", ".rate (k.yaml line 4): must be a whole number"),
        ("\(one)rate: ~", ".rate (k.yaml line 4): must be a whole number"),
        (
            "\(one)priority_max: 10",
            ".priority_max (k.yaml line 4): must be a whole number from 0 to 9, or leave it out"
        ),
        ("\(one)rights: push", ".rights (k.yaml line 4): must be a list of push, read, operate, such as [push]"),
        ("\(one)rights: []", ".rights (k.yaml line 4): must be a list"),
        ("\(one)rights: [push, send]", ".rights (k.yaml line 4): must be a list"),
        ("name: a\nsha256: \(digest("a"))", ".projects (k.yaml): none; list the ids of the projects"),
        ("name: a\nprojects: [demo]", ".sha256 (k.yaml): none; `fanfare gateway key add` writes it"),
        ("sha256: \(digest("a"))\nprojects: [demo]", ".name (k.yaml): none; give the key a name that matches"),
        ("name: a\nsha256: \(digest("a"))\nprojects: demo", ".projects (k.yaml line 3): must be a list; list the ids"),
        ("name: a\nsha256: \(digest("a"))\nprojects: [Demo]", ".projects (k.yaml line 3): a project id must match"),
        (
            "name: a\nsha256: \(digest("a"))\nprojects: [b, b]",
            ".projects (k.yaml line 3): 2 projects; list at most 1000"
        ),
        ("name: a b\nsha256: \(digest("a"))\nprojects: [b]", ".name (k.yaml line 1): not a name; give the key a name"),
        ("name: null\nsha256: \(digest("a"))\nprojects: [b]", ".name (k.yaml line 1): not a name"),
        ("name: \(secret)\nsha256: \(digest("a"))\nprojects: [b]", ".name (k.yaml line 1): not a name"),
        (
            "name: a\nsha256: \(secret)\nprojects: [b]",
            ".sha256 (k.yaml line 2): holds the key itself; `fanfare gateway"
        ),
        ("name: a\nsha256: 00\nprojects: [b]", ".sha256 (k.yaml line 2): must be 64 hexadecimal digits"),
    ]

    @Test(arguments: faulty)
    func faultNamesFileAndFieldAndRemedy(yaml: String, fault: String) throws {
        let keys = try read(["k.yaml": yaml, "other.yaml": Self.file("other", "f")])
        #expect(
            keys.faults.count == 1 && keys.faults.first?.hasPrefix("gateway.keys_dir" + fault) == true,
            "\(keys.faults)"
        )
        #expect(!keys.faults.joined().contains(Self.secret))
        #expect(keys.entries.map(\.key.name) == ["other"], "the other file is read")
    }

    @Test func allFaultsOfAFileAreReported() throws {
        let keys = try read(["k.yaml": "name: \"\"\nsha256: x\nprojects: x\nrights: x\nrate: x\npriority_max: x\nx: x"])
        #expect(keys.faults.count == 7, "\(keys.faults)")
    }

    @Test func nameOrDigestOfTwoFilesIsAFaultThatNamesBoth() throws {
        let keys = try read([
            "a.yaml": Self.file("shop", "a"), "b.yaml": Self.file("shop", "b"), "c.yaml": Self.file("crm", "a"),
        ])
        #expect(
            keys.faults == [
                "gateway.keys_dir.name (b.yaml): a.yaml has this name, too; change one of them",
                "gateway.keys_dir.sha256 (c.yaml): a.yaml has the same key; remove one of them",
            ]
        )
        #expect(keys.table.keys.map(\.name) == ["shop"])
    }

    @Test func fileWithAFaultKeepsItsKeyAndARemovedFileDoesNot() throws {
        let old = try read([
            "a.yaml": Self.file("a", "a"), "b.yaml": Self.file("b", "b"), "c.yaml": Self.file("c", "c"),
        ])
        try FileManager.default.removeItem(atPath: folder.file("a.yaml"))
        let new = try read(["b.yaml": "name: [", "bad.yaml": "name: bad", "d.yaml": Self.file("d", "d")])
        #expect(new.faults.count > 1 && new.entries.map(\.file) == ["c.yaml", "d.yaml"])
        let keys = new.replacing(old.entries)
        #expect(keys.map(\.file) == ["b.yaml", "c.yaml", "d.yaml"] && keys.first?.key.name == "b")
    }

    @Test(arguments: [("b", "d"), ("d", "b")])
    func keyOfAFaultyFileThatMovedToAnotherFileIsNotKept(name: String, letter: Character) throws {
        let old = try read(["b.yaml": Self.file("b", "b")])
        let new = try read(["b.yaml": "", "d.yaml": Self.file(name, letter)])
        #expect(new.replacing(old.entries).map(\.file) == ["d.yaml"])
    }

    @Test func openAndForeignFilesAreConcerns() throws {
        try write(["a.yaml": Self.file("a", "a"), "b.yml": "", "README": ""])
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("a.yaml"))
        let keys = try read([:])
        #expect(
            keys.concerns.map(\.sentence) == [
                "gateway.keys_dir (line 3): 1 key file is readable by every user of this machine; chmod 600 them",
                "gateway.keys_dir (line 3): 2 entries are ignored; the file of a key is named ….yaml",
            ]
        )
    }

    @Test func folderThatCannotBeReadIsAFault() throws {
        let file = try folder.write("file", "")
        let rows = [
            (folder.file("gone"), "No such file or directory; `fanfare gateway key add` makes it"),
            (file, "Not a directory"),
        ]
        for (path, fault) in rows {
            let error = try #require(throws: ConfigurationError.self) {
                try GatewayKeys.read(ConfiguredFile(name: "gateway.keys_dir (line 3)", path: path))
            }
            #expect(error.faults == ["gateway.keys_dir (line 3): \(fault)"])
        }
    }

    @Test func moreThan10000KeysAreRefused() throws {
        for number in 0...KeyTable.maximumKeys {
            #expect(FileManager.default.createFile(atPath: folder.file("\(number).yaml"), contents: nil))
        }
        let error = try #require(throws: ConfigurationError.self) { try read([:]) }
        #expect(
            error.faults == ["gateway.keys_dir (line 3): 10001 keys, at most 10000; remove keys that are not in use"]
        )
    }
}
