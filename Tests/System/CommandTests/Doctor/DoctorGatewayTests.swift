import FanfareConfiguration
import Foundation
import OpenSSLKit
import RedisTransport
import TestSupport
import Testing

@testable import fanfare

/// What the doctor says of a gateway's certificate, keys and rights.
@Suite struct DoctorGatewayTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func identity(days: Int32, names: [String] = ["push.example"]) throws -> (ConfiguredFile, ConfiguredFile) {
        let authority = try CertificateAuthority(commonName: "A", organization: "A", days: 30)
        let issued = try authority.issue(commonName: "G", names: names, addresses: [], days: days)
        let certificate = try folder.write("gateway.pem", issued.certificatePEM)
        let key = try folder.write("gateway.key", issued.keyPEM)
        return (
            ConfiguredFile(name: "gateway.cert_file", path: certificate),
            ConfiguredFile(name: "gateway.key_file", path: key)
        )
    }

    private func examine(_ files: (ConfiguredFile, ConfiguredFile), afterDays days: Double = 0) -> [Finding] {
        var report = Report("gateway certificate")
        let now = Int64(Date().timeIntervalSince1970 + days * 86_400)
        GatewayCertificate(certificate: files.0, key: files.1).examine(now: now, &report)
        return report.findings
    }

    @Test(arguments: [
        (0.5, Finding.Severity.ok, "valid for 19 days; its names: push.example"),
        (7.5, .warn, "expires in 12 days; its names: push.example"), (21, .fail, "expired: clients refuse it"),
        (-1, .fail, "not valid yet: clients refuse it"),
    ])
    func certificateIsJudgedByItsTimes(afterDays days: Double, severity: Finding.Severity, text: String) throws {
        let findings = examine(try identity(days: 20), afterDays: days)
        #expect(findings.map(\.severity) == [severity] && findings.map(\.text) == [text], "\(findings)")
    }

    @Test func keyOfAnotherCertificateIsAFailure() throws {
        let first = try identity(days: 20)
        let other = try CertificateAuthority(commonName: "B", organization: "B", days: 30)
            .issue(commonName: "G", names: ["b"], addresses: [], days: 20)
        _ = try folder.write("gateway.key", other.keyPEM)
        let findings = examine(first)
        #expect(findings.count == 1 && findings[0].severity == .fail && findings[0].text.contains("cannot be used"))
    }

    private func subject(_ settings: String) throws -> Check.Subject {
        let file = try folder.write("fanfare.yaml", "projects: { demo: { credentials: metadata } }\n\(settings)\n")
        let configuration = try Configuration.load(file: file, environment: [:])
        return Check.Subject(configuration: configuration, deployment: try RedisDeployment(url: "redis://h"))
    }

    @Test func configurationWithoutAGatewayHasNoFindings() async throws {
        #expect(await Check.gateway.examine(try subject("")) == [])
    }

    @Test func gatewayWithoutAKeyIsAWarning() async throws {
        let findings = await Check.gateway.examine(try subject("gateway: { listen: \"127.0.0.1:1\" }"))
        #expect(findings.map(\.severity) == [.warn, .ok], "\(findings)")
        #expect(findings[0].text == "no key: every request is refused")
        #expect(findings[1].text == "127.0.0.1:1 is free: no gateway runs here")
    }

    @Test func keysAreHeldAgainstProjectsAndRights() async throws {
        let keys = folder.path + "/keys"
        try FileManager.default.createDirectory(atPath: keys, withIntermediateDirectories: true)
        let digest = String(repeating: "ab", count: 32)
        let text = "name: shop\nsha256: \(digest)\nprojects: [demo, other]\n"
        try text.write(toFile: keys + "/shop.yaml", atomically: true, encoding: .utf8)
        chmod(keys + "/shop.yaml", 0o600)
        var subject = try subject("gateway: { keys_dir: keys }")
        subject.redis = RedisFacts()
        var findings = await Check.gateway.examine(subject).filter { $0.check == "gateway keys" }
        #expect(findings.map(\.severity) == [.warn], "\(findings)")
        #expect(findings[0].text == "keys for other, such as shop: this configuration has no such project")
        subject.redis?.gatewayRefusal = "NOPERM x"
        findings = await Check.gateway.examine(subject).filter { $0.check == "gateway keys" }
        #expect(findings.map(\.severity) == [.fail] && findings[0].text.hasSuffix("NOPERM x"), "\(findings)")
    }
}
