import FanfareModel
import Foundation
import TestSupport
import Testing

@testable import FanfareConfiguration

@Suite struct ProxySettingTests {
    private static let account = """
        {"type":"service_account","client_email":"a@b","private_key":"-----BEGIN SECRET","token_uri":"https://localhost:1/token"}
        """

    struct ProxyRow: Sendable {
        var yaml: String
        var environment: [String: String] = [:]
        var proxy: HTTPProxy?
        var fault = ""
    }

    private static let address = "http://p:1"
    private static let secret = "p@ss:w/rd%"

    @Test(arguments: [
        ProxyRow(yaml: "proxy: http://p:1", proxy: HTTPProxy(address: address)),
        ProxyRow(yaml: "proxy: HTTP://p:1/", proxy: HTTPProxy(address: address)),
        ProxyRow(
            yaml: "proxy: http://us%20er:p%40ss%3Aw%2Frd%25@p:1/",
            proxy: HTTPProxy(address: address, user: "us er", password: secret)
        ),
        ProxyRow(
            yaml: "proxy: http://p:1\nproxy_user: us er\nproxy_password_file: secret",
            proxy: HTTPProxy(address: address, user: "us er", password: secret)
        ),
        ProxyRow(
            yaml: "proxy: http://u@p:1\nproxy_password_file: secret",
            proxy: HTTPProxy(address: address, user: "u", password: secret)
        ),
        ProxyRow(
            yaml: "proxy: http://p:1\nproxy_user: u\nproxy_password_file: missing",
            environment: ["FANFARE_PROXY_PASSWORD": "x"],
            proxy: HTTPProxy(address: address, user: "u", password: "x")
        ),
        ProxyRow(
            yaml: "",
            environment: ["FANFARE_PROXY": "http://u:x@p:1"],
            proxy: HTTPProxy(address: address, user: "u", password: "x")
        ),
        ProxyRow(yaml: "proxy_user: u"),
        ProxyRow(
            yaml: "proxy: http://u:y@p:1\nproxy_password_file: secret",
            fault:
                "proxy: holds a password, and proxy_password_file or FANFARE_PROXY_PASSWORD says another; leave one out"
        ),
        ProxyRow(
            yaml: "proxy: http://p:1\nproxy_password_file: secret",
            fault: "proxy_password_file: the password is of no user; set proxy_user, or leave the password out"
        ),
        ProxyRow(
            yaml: "proxy: http://u@p:1",
            fault: "proxy: the user has no password; set proxy_password_file or FANFARE_PROXY_PASSWORD"
        ),
        ProxyRow(
            yaml: "proxy: http://p:1\nproxy_user: u",
            fault: "proxy_user: the user has no password; set proxy_password_file or FANFARE_PROXY_PASSWORD"
        ),
    ])
    func proxyIsReadWithItsUserAndPassword(row: ProxyRow) throws {
        let yaml = "projects: { a: { credentials: a.json, endpoint: \"https://localhost\" } }\n\(row.yaml)\n"
        let files = ["a.json": Self.account, "secret": Self.secret + "\n"]
        var shown = ""
        do {
            let folder = try TemporaryFolder()
            for (name, text) in files { _ = try folder.write(name, text) }
            let path = try folder.write("fanfare.yaml", yaml)
            let secrets = try Configuration.load(file: path, environment: row.environment).loadSecrets()
            #expect(secrets.proxy == row.proxy && row.fault.isEmpty, "\(row)")
            dump(secrets, to: &shown)
            shown += secrets.proxy.map { "\($0) \(String(reflecting: $0))" } ?? ""
        } catch {
            #expect((error as? ConfigurationError)?.faults == [row.fault], "\(error)")
            shown = "\(error)"
        }
        #expect(!shown.contains(Self.secret) && !shown.contains("p%40ss"))
    }

    /// As for Redis' URL.
    @Test func passwordOfTheProxyInAnOpenFileIsAWarning() throws {
        let folder = try TemporaryFolder()
        let text = "proxy: http://u:secret@p:1\nprojects: { a: {} }\n"
        let path = try folder.write("fanfare.yaml", text)
        for (mode, count) in [(0o644, 1), (0o600, 0)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let warnings = try Configuration.load(file: path, environment: [:]).warnings
            #expect(warnings.filter { $0.hasPrefix("proxy: ") && $0.hasSuffix("into FANFARE_PROXY") }.count == count)
            #expect(!warnings.contains { $0.contains("secret") })
        }
    }
}
