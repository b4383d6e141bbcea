import FanfareModel
import Foundation
import TestSupport
import Testing

@testable import FanfareConfiguration

/// `projects_dir`: more projects, a file each.
@Suite struct ProjectFolderTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file("projects.d"), withIntermediateDirectories: true)
    }

    private func load(
        _ yaml: String,
        _ files: [String: String] = [:],
        environment: [String: String] = [:],
        omitting omitted: Set<String> = []
    ) throws -> Configuration {
        for (name, text) in files { _ = try folder.write("projects.d/" + name, text) }
        let file = try folder.write("fanfare.yaml", yaml)
        return try Configuration.load(file: file, environment: environment, omitting: omitted)
    }

    private func faults(_ yaml: String, _ files: [String: String]) throws -> [String] {
        do {
            _ = try load(yaml, files)
            return []
        } catch let error as ConfigurationError {
            return error.faults
        }
    }

    @Test func eachFileIsAProjectNamedAfterIt() throws {
        let configuration = try load(
            "projects: { demo: {} }\nprojects_dir: projects.d",
            [
                "shop.yaml": "quota_per_minute: 7\ncredentials: shop.json\ntopics: { news: 5 }",
                // As editors of Windows write it.
                "empty.yaml": "\u{FEFF}# all defaults\r\n",
            ]
        )
        #expect(configuration.projects.map(\.id) == ["demo", "empty", "shop"])
        let shop = try #require(configuration.projects.last)
        #expect(shop.quotaPerMinute == 7 && shop.topics == ["news": 5])
        #expect(shop.credentials?.file?.path == folder.file("projects.d/shop.json"), "relative to the file")
        #expect(shop.credentials?.file?.name == "projects.shop.credentials (shop.yaml line 2)")
        #expect(configuration.warnings.isEmpty)
    }

    @Test func fileOfAProjectMayNameItsEngine() throws {
        let configuration = try load(
            "projects_dir: projects.d\nhttp_engine: nghttp2",
            ["shop.yaml": "http_engine: curl", "demo.yaml": ""]
        )
        #expect(configuration.projects.map(\.httpEngine) == [.nghttp2, .curl])
        let found = try faults("projects_dir: projects.d", ["shop.yaml": "http_engine: nio"])
        #expect(found == ["projects.shop.http_engine (shop.yaml line 1): nio is none of curl, nghttp2"])
    }

    @Test func folderMayBeGivenByAVariable() throws {
        let configuration = try load(
            "",
            ["shop.yaml": ""],
            environment: ["FANFARE_PROJECTS_DIR": folder.file("projects.d"), "FANFARE_PROJECTS_SHOP_PORT": "7"]
        )
        #expect(configuration.projects.map(\.id) == ["shop"])
        #expect(configuration.projects.first?.xmppPort == 7)
    }

    @Test func projectInBothPlacesIsRefusedWithBothNames() throws {
        let found = try faults("projects_dir: projects.d\nprojects:\n  shop: {}", ["shop.yaml": ""])
        let rule = "the configuration file has this project, too (line 3); remove one of them"
        #expect(found == ["projects.shop (shop.yaml): \(rule)"])
    }

    @Test(arguments: [
        ("qouta: 3", "projects.shop.qouta (shop.yaml line 1): unknown key"),
        ("\nport: 0", "projects.shop.port (shop.yaml line 2): 0, must be 1 to 65535"),
        ("[a]", "projects.shop (shop.yaml): must be a mapping of the project's settings to values"),
        ("a: [", "projects.shop (shop.yaml): not YAML: line"),
        ("port: 1\nport: 2", "projects.shop (shop.yaml): key given twice"),
        (String(repeating: "#", count: 70_000), "projects.shop (shop.yaml): more than 65536 bytes"),
    ])
    func faultNamesTheFile(yaml: String, fault: String) throws {
        let found = try faults("projects_dir: projects.d", ["shop.yaml": yaml])
        #expect(found.count == 1 && found.first?.hasPrefix(fault) == true, "\(found)")
    }

    @Test func hiddenEntriesAreIgnoredAndOthersAreNamed() throws {
        let configuration = try load(
            "projects_dir: projects.d",
            [".shop.yaml.swp": "x: [", "notes.txt": "", "Shop.yaml": "", "shop.yml": "", "a.yaml": ""]
        )
        #expect(configuration.projects.map(\.id) == ["a"])
        #expect(
            configuration.warnings.map { $0.prefix { $0 != ":" } }
                == Array(repeating: "projects_dir (line 1)", count: 3)
        )
        for name in ["notes.txt", "Shop.yaml", "shop.yml"] {
            #expect(configuration.warnings.contains { $0.contains("\(name) is ignored") }, "\(name)")
        }
    }

    @Test func missingFolderIsAFault() throws {
        #expect(
            try faults("projects_dir: nowhere", [:]) == ["projects_dir (line 1): No such file or directory"]
        )
    }

    @Test func tooManyProjectsAreRefused() throws {
        let most = ConfigurationFile.maximumProjects
        let files = Dictionary(uniqueKeysWithValues: (0...most).map { ("p\($0).yaml", "") })
        #expect(try faults("projects_dir: projects.d", files) == ["projects_dir: more than \(most) projects"])
    }

    // MARK: Reload

    /// What a running worker takes up: the configuration without refused files, and the projects of these.
    private func accept(_ yaml: String, _ files: [String: String]) throws -> ([String], [String: [String]]) {
        for (name, text) in files { _ = try folder.write("projects.d/" + name, text) }
        let file = try folder.write("fanfare.yaml", yaml)
        let accepted = try Configuration.loadAccepted { omitted throws(ConfigurationError) in
            let configuration = try Configuration.load(file: file, environment: [:], omitting: omitted)
            _ = try configuration.loadSecrets()
            return configuration
        }
        return (accepted.state.projects.map(\.id), accepted.refused)
    }

    private static let legacy = "transport: legacy\nserver_key_file: ../key\n"

    @Test func refusedFileConcernsOnlyItsProject() throws {
        _ = try folder.write("key", "AAAA")
        let (projects, refused) = try accept(
            "projects_dir: projects.d\nproxy: http://p:1\nprojects: { main: { transport: legacy, server_key_file: key } }",
            [
                "good.yaml": Self.legacy, "typo.yaml": Self.legacy + "prot: 1", "broken.yaml": "a: [",
                "nokey.yaml": "transport: legacy\nserver_key_file: gone", "main.yaml": Self.legacy,
                "none.yaml": "transport: legacy", "contrary.yaml": Self.legacy + "topic_api: v1",
                "proxied.yaml": Self.legacy + "http_engine: nghttp2",
            ]
        )
        #expect(projects == ["good", "main"])
        #expect(Set(refused.keys) == ["typo", "broken", "nokey", "main", "none", "contrary", "proxied"])
        #expect(refused["none"] == ["projects.none.server_key_file: none named; legacy needs a server key"])
    }

    @Test(arguments: [
        "redsi: {}", "projects: { main: { transport: legacy } }", "projects: { main: { port: 0 } }",
        "projects: { main: { transport: legacy, topic_api: v1, server_key_file: key } }",
    ])
    func faultOfTheConfigurationFileRefusesTheWholeState(yaml: String) throws {
        _ = try folder.write("key", "AAAA")
        do {
            let accepted = try accept(
                "projects_dir: projects.d\n" + yaml,
                ["good.yaml": Self.legacy, "broken.yaml": "a: ["]
            )
            Issue.record("accepted \(accepted)")
        } catch let error as ConfigurationError {
            #expect(error.faults.count >= 2, "\(error.faults)")
            #expect(Set(error.faults).count == error.faults.count)
        }
    }

    // MARK: Deleted credentials

    @Test func deletedCredentialIsNoFaultForTheStateThatNamedIt() throws {
        let yaml = "projects: { a: { transport: legacy, server_key_file: key } }"
        _ = try folder.write("key", "AAAA")
        let running = try load(yaml)
        #expect(try running.loadSecrets(replacing: running).deleted.isEmpty)
        try FileManager.default.removeItem(atPath: folder.file("key"))
        let secrets = try load(yaml).loadSecrets(replacing: running)
        #expect(secrets.deleted == ["a": "server_key_file: the file was deleted"] && secrets.serverKeys.isEmpty)
        #expect(throws: ConfigurationError.self) { try running.loadSecrets() }
        // A path that the running state does not name is a typing error.
        let mistyped = try load("projects: { a: { transport: legacy, server_key_file: kee } }")
        #expect(throws: ConfigurationError.self) { try mistyped.loadSecrets(replacing: running) }
    }

    /// A line that is inserted above a project does not change it.
    @Test func sameFileNamedOnAnotherLineIsEqual() throws {
        let first = try load("projects: { a: { credentials: x } }")
        let second = try load("# a comment\nprojects: { a: { credentials: x } }")
        #expect(first.projects == second.projects)
        #expect(first.projects != (try load("projects: { a: { credentials: y } }")).projects)
    }
}
