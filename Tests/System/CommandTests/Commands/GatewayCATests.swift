import Foundation
import TestSupport
import Testing

@testable import fanfare

/// `fanfare gateway ca`.
@Suite struct GatewayCATests {
    private let folder: TemporaryFolder
    private var out: String { folder.file("tls") }

    init() throws { folder = try TemporaryFolder() }

    private func run(_ arguments: String...) async throws -> CommandRun {
        try await CommandRun(["gateway", "ca", "--out", out] + arguments)
    }

    private func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: "\(out)/\(name)")[.posixPermissions] as? Int
    }

    private func isValid(for check: [String]) -> Bool {
        let arguments = ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", "\(out)/ca.pem"] + check
        return (try? Certificates.openssl(arguments + ["\(out)/gateway.pem"])) != nil
    }

    @Test func certificateNamesEveryHostOfGooglesAndTheGivenOnes() async throws {
        let made = try await run("--name", "push.example.com", "--name", "10.0.0.5")
        #expect(made.status == 0 && made.out.contains("REQUESTS_CA_BUNDLE"), "\(made.err)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: out).sorted() == [
                "ca.pem", "gateway.key", "gateway.pem",
            ]
        )
        #expect(try mode("gateway.key") == 0o600)
        for name in ["fcm", "iid", "gcm-http", "android"] {
            #expect(isValid(for: ["-verify_hostname", "\(name).googleapis.com"]))
        }
        #expect(isValid(for: ["-verify_hostname", "push.example.com"]) && isValid(for: ["-verify_ip", "10.0.0.5"]))
        #expect(!isValid(for: ["-verify_hostname", "oauth2.googleapis.com"]))
        let key = try Certificates.openssl(["pkey", "-in", "\(out)/gateway.key", "-pubout"])
        #expect(try key == Certificates.openssl(["x509", "-in", "\(out)/gateway.pem", "-noout", "-pubkey"]))
        let text = String(
            decoding: try Certificates.openssl(["x509", "-in", "\(out)/ca.pem", "-noout", "-text"]),
            as: UTF8.self
        )
        #expect(text.contains("X509v3 Name Constraints: critical") && text.contains("DNS:fcm.googleapis.com"))
    }

    @Test func keyOfTheAuthorityIsKeptOnlyIfAskedFor() async throws {
        let made = try await run("--keep-ca-key", "--days", "30")
        #expect(made.status == 0 && made.out.contains("ca.key signs more of them"), "\(made.err)")
        #expect(try mode("ca.key") == 0o600)
    }

    @Test func noFileIsReplacedAndNoneIsLeftBehind() async throws {
        _ = try await run()
        let before = try Data(contentsOf: URL(fileURLWithPath: "\(out)/ca.pem"))
        try FileManager.default.removeItem(atPath: "\(out)/ca.pem")
        let again = try await run()
        #expect(
            again.status == 1 && again.err.contains("gateway.pem: is there already and is not overwritten"),
            "\(again.err)"
        )
        #expect(!FileManager.default.fileExists(atPath: "\(out)/ca.pem"))
        try before.write(to: URL(fileURLWithPath: "\(out)/ca.pem"))
        #expect(isValid(for: []), "the others are as they were")
    }

    @Test(arguments: [
        ["--name", "a b"], ["--name", ""], ["--name", "-a"], ["--days", "0"], ["--name", "*.example.com"],
    ])
    func badOptionIsRefused(options: [String]) async throws {
        let run = try await CommandRun(["gateway", "ca", "--out", out] + options)
        #expect(run.status == 64 && run.err.contains(options[0]), "\(run.err)")
        #expect(!FileManager.default.fileExists(atPath: out))
    }
}
