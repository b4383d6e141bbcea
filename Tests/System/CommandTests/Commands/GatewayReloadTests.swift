import ArgumentParser
import FanfareConfiguration
import FanfareCore
import Foundation
import OpenSSLKit
import TestSupport
import Testing

@testable import fanfare

/// What a gateway reads again while it runs, and what it checks before it listens.
@Suite struct GatewayReloadTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func configuration(_ projects: String, _ gateway: String = "{}", _ more: String = "") throws
        -> Configuration
    {
        let text = "projects: { \(projects) }\ngateway: \(gateway)\n\(more)\n"
        return try Configuration.load(file: try folder.write("fanfare.yaml", text), environment: [:])
    }

    private static func project(_ id: String, _ topicAPI: String) -> String {
        "\(id): { credentials: metadata, topic_api: \(topicAPI) }"
    }

    /// Whether a question for the topics of a token breaks no rule of the project.
    private func listsTopics(_ settings: GatewayProjectSettings, _ project: String) -> Bool {
        let fields = [("op", "topic.list"), ("tokens", #"["a"]"#)].map { (name: $0.0, value: Array($0.1.utf8)) }
        return (try? settings.check(of: project).check(fields)) != nil
    }

    @Test func changedProjectsCountAndRefusedOnesStay() throws {
        let old = try configuration([Self.project("a", "iid"), Self.project("b", "iid")].joined(separator: ", "))
        let settings = GatewayProjectSettings(old)
        #expect(!listsTopics(settings, "a") && !listsTopics(settings, "b"))
        let new = try configuration([Self.project("a", "v1"), Self.project("c", "iid")].joined(separator: ", "))
        #expect(settings.replace(new.projects, keeping: ["b"]))
        #expect(listsTopics(settings, "a") && !listsTopics(settings, "b") && !listsTopics(settings, "c"))
        #expect(!settings.replace(new.projects, keeping: ["b"]), "nothing changed")
    }

    @Test func settingsThatNeedARestartAreNamed() throws {
        let project = Self.project("a", "v1")
        let old = try configuration(project, "{ keys_dir: a, cert_file: c, key_file: k }")
        let same = try configuration(Self.project("a", "iid"), "{ keys_dir: b, cert_file: d, key_file: l }")
        #expect(GatewayReload.restartKeys(old, same) == [], "projects, keys and certificate are taken up")
        let new = try configuration(project, "{ wait_ms: 1, listen: \"127.0.0.1:1\" }", "prefix: other")
        #expect(
            GatewayReload.restartKeys(old, new) == ["prefix", "gateway.listen", "gateway.cert_file", "gateway.wait_ms"]
        )
    }

    // MARK: The certificate

    @Test(arguments: [["config", "check"], ["gateway"]])
    func keyOfAnotherCertificateExitsWith78(command: [String]) async throws {
        let authority = try CertificateAuthority(commonName: "A", organization: "A", days: 30)
        let pairs = try ["a", "b"].map { try authority.issue(commonName: $0, names: [$0], addresses: [], days: 20) }
        _ = try folder.write("gateway.pem", pairs[0].certificatePEM)
        let key = try folder.write("gateway.key", pairs[1].keyPEM)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        _ = try folder.write("server-key", "AAAA")
        let file = try folder.write(
            "fanfare.yaml",
            "projects: { demo: { transport: legacy, server_key_file: server-key } }\n"
                + "gateway: { cert_file: gateway.pem, key_file: gateway.key }\n"
        )
        let run = try await CommandRun(command + ["-c", file])
        let sentence = /gateway\.cert_file and gateway\.key_file: .+; replace both\n/
        #expect(run.status == 78 && run.err.firstMatch(of: sentence) != nil, "\(run.err)")
        _ = try folder.write("gateway.pem", pairs[1].certificatePEM)
        let good = try await CommandRun(["config", "check", "-c", file])
        #expect(good.status == 0, "\(good.err)")
    }

    // MARK: The socket

    @Test func socketOfAnotherProgramAndAFileAreNotReplaced() throws {
        let path = folder.file("socket")
        #expect(throws: Never.self) { try GatewayRunCommand.checkSocket(.unix(path: path)) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(isBound && listen(descriptor, 1) == 0)
        let taken = #expect(throws: ExitCode.self) { try GatewayRunCommand.checkSocket(.unix(path: path)) }
        #expect(taken == ExitCode(69))
        close(descriptor)
        #expect(throws: Never.self, "a socket that no process serves") {
            try GatewayRunCommand.checkSocket(.unix(path: path))
        }
        let file = try folder.write("file", "")
        let refused = #expect(throws: ExitCode.self) { try GatewayRunCommand.checkSocket(.unix(path: file)) }
        #expect(refused == ExitCode(69) && FileManager.default.fileExists(atPath: file))
    }
}
