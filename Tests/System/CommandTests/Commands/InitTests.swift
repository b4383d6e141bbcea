import FanfareConfiguration
import Foundation
import TestSupport
import Testing

@testable import fanfare

@Suite(.timeLimit(.minutes(10))) struct InitTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> CommandRun {
        try await CommandRun(
            arguments,
            environment: environment.merging(["FANFARE_CONFIG": ""]) { own, _ in own },
            folder: folder.path
        )
    }

    /// Where it exists, no command goes without a configuration file.
    private static let hasMachineFile = FileManager.default.fileExists(atPath: "/etc/fanfare/fanfare.yaml")

    @Test func writtenFilePassesConfigCheckOnceTheCredentialsAreThere() async throws {
        let made = try await run("init", "--project", "shop-1")
        #expect(made.status == 0 && made.out.contains("fanfare config check"), "\(made.err)")
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file("fanfare.yaml"))[.posixPermissions]
        #expect(mode as? Int == 0o644)
        let early = try await run("config", "check")
        #expect(early.status == 78 && early.err.contains("projects.shop-1.credentials (line"), "\(early.err)")
        _ = try folder.write("service-account.json", try Certificates.serviceAccount())
        let late = try await run("config", "check")
        #expect(late.status == 0, "\(late.err)")
        #expect(
            late.out.hasPrefix("file ./fanfare.yaml\nproject shop-1: v1, https://fcm.googleapis.com\n"),
            "\(late.out)"
        )
    }

    @Test func sandboxFilePassesConfigCheckWithTheSandboxesFiles() async throws {
        #expect(try await run("init", "--sandbox").status == 0)
        let sandbox = CommandRun.process(
            ["sandbox", "--state", folder.file("sandbox"), "--project", "my-app", "--port", "0", "--control-port", "0"]
        )
        sandbox.standardOutput = FileHandle.nullDevice
        try startProcess(sandbox)
        defer { sandbox.terminate() }
        let files = ["sandbox/service-account-my-app.json", "sandbox/ca.pem"].map { folder.file($0) }
        while !files.allSatisfy({ FileManager.default.fileExists(atPath: $0) }) {
            try await Task.sleep(for: .milliseconds(20))
        }
        let check = try await run("config", "check")
        #expect(check.status == 0 && check.err.isEmpty, "\(check.err)")
        #expect(check.out.contains("project my-app: v1, https://localhost:8443"))
    }

    @Test(arguments: [[], ["--sandbox"]]) func newFileUsesTheTopicAPIOfV1(flags: [String]) async throws {
        let printed = try await CommandRun(["init", "--stdout"] + flags, folder: folder.path)
        let lines = printed.out.split(separator: "\n")
        #expect(lines.contains("    topic_api: v1"))
    }

    @Test func schemaIsWrittenBesideTheFileAndNamedInItsFirstLine() async throws {
        let made = try await run("init", "--schema")
        #expect(made.status == 0, "\(made.err)")
        let file = try String(contentsOfFile: folder.file("fanfare.yaml"), encoding: .utf8)
        #expect(file.hasPrefix("# yaml-language-server: $schema=fanfare.schema.json\n# Configuration of Fanfare."))
        let schema = try String(contentsOfFile: folder.file("fanfare.schema.json"), encoding: .utf8)
        #expect(schema == SettingSchema.text)
        #expect(try await run("config", "schema").out == schema)
        // A second run changes neither; without one of the two files, it writes neither.
        #expect(try await run("init", "--schema").status == 1)
        try FileManager.default.removeItem(atPath: folder.file("fanfare.schema.json"))
        let again = try await run("init", "--schema")
        #expect(again.status == 1 && again.err.contains("fanfare.yaml: is there already"), "\(again.err)")
        #expect(!FileManager.default.fileExists(atPath: folder.file("fanfare.schema.json")))
        let printed = try await run("init", "--schema", "--stdout")
        #expect(printed.status == 64 && printed.err.contains("fanfare config schema"), "\(printed.err)")
    }

    @Test func existingFileIsNotOverwritten() async throws {
        _ = try folder.write("fanfare.yaml", "mine")
        let again = try await run("init", "--sandbox")
        #expect(again.status == 1 && again.out.isEmpty && again.err.contains("is there already and is not overwritten"))
        #expect(try String(contentsOfFile: folder.file("fanfare.yaml"), encoding: .utf8) == "mine")
        let printed = try await run("init", "--stdout")
        #expect(printed.status == 0 && printed.out == ConfigurationTemplate.live(project: "my-app").text)
    }

    @Test func folderThatCannotBeWrittenExitsWith1() async throws {
        // Not even root may write here.
        let run = try await CommandRun(["init"], folder: "/proc/self")
        #expect(run.status == 1 && run.err.hasPrefix("fanfare: fanfare.yaml: "), "\(run.err)")
    }

    @Test(.disabled(if: hasMachineFile, "this machine has a configuration file"))
    func absentConfigurationIsNamedWithItsPlaces() async throws {
        let none = try await run("dead", "ls")
        #expect(none.status == 64)
        #expect(
            none.err.contains("./fanfare.yaml, then /etc/fanfare/fanfare.yaml); `fanfare init` writes one"),
            "\(none.err)"
        )
    }

    @Test func emptyConfigurationStandsForThisMachinesOne() async throws {
        let run = try await CommandRun(["dead", "ls"], folder: folder.path)
        #expect(run.status == 64 && !run.err.contains("there is no configuration file"), "\(run.err)")
    }

    @Test func configurationIsFoundInTheWorkingDirectory() async throws {
        _ = try folder.write("fanfare.yaml", "redsi: {}\n")
        let broken = try await run("job", "ls")
        #expect(broken.status == 78 && broken.err.contains("redsi (line 1): unknown key"), "\(broken.err)")
        #expect(broken.err.hasSuffix("read from ./fanfare.yaml; -c names another file\n"), "\(broken.err)")
        // The variable and the flag come first.
        let named = try await run("config", "check", environment: ["FANFARE_CONFIG": "/nowhere.yaml"])
        #expect(named.err.contains("FANFARE_CONFIG /nowhere.yaml: No such file"), "\(named.err)")
        let flag = try await run("dead", "ls", "-c", "/dev/null")
        #expect(flag.status == 64, "\(flag.err)")
        let empty = try await run("job", "ls", environment: ["FANFARE_CONFIG": ""])
        #expect(empty.status == 78)
    }

    @Test func foundFileThatCannotBeReadIsAnError() async throws {
        try FileManager.default.createSymbolicLink(atPath: folder.file("fanfare.yaml"), withDestinationPath: "gone")
        let dangling = try await run("job", "ls")
        #expect(dangling.status == 78 && dangling.err.contains("./fanfare.yaml: No such file"), "\(dangling.err)")
        try FileManager.default.removeItem(atPath: folder.file("fanfare.yaml"))
        try FileManager.default.createDirectory(atPath: folder.file("fanfare.yaml"), withIntermediateDirectories: false)
        let directory = try await run("job", "ls")
        #expect(directory.status == 78 && directory.err.contains("./fanfare.yaml: is a directory"), "\(directory.err)")
    }
}
