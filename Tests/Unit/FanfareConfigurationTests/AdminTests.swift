import Foundation
import Testing

@testable import FanfareConfiguration

/// The admin address and its token.
@Suite struct AdminTests {
    private static let token = "0123456789abcdef"

    private func secrets(_ admin: String, environment: [String: String] = [:], file: String? = nil) throws -> Secrets {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func write(_ name: String, _ text: String) throws {
            try text.write(toFile: folder + "/" + name, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder + "/" + name)
        }
        try write("key", "AAAA")
        if let file { try write("token", file) }
        try write("f.yaml", "projects: { a: { transport: legacy, server_key_file: key } }\nadmin: \(admin)\n")
        return try Configuration.load(file: folder + "/f.yaml", environment: environment).loadSecrets()
    }

    private func faults(_ admin: String, environment: [String: String] = [:], file: String? = nil) throws -> [String] {
        do {
            _ = try secrets(admin, environment: environment, file: file)
            return []
        } catch let error as ConfigurationError {
            return error.faults
        }
    }

    @Test(arguments: ["127.0.0.1:9464", "localhost:0", "[::1]:9464", "unix:///run/fanfare/admin.sock"])
    func localAdminAddressNeedsNoToken(_ address: String) throws {
        #expect(try secrets("{ listen: \"\(address)\" }").adminToken == nil)
    }

    @Test(arguments: ["0.0.0.0:9464", "[::]:9464", "10.0.0.7:9464", "worker.example:9464", "127.0.0.1.example:9464"])
    func publicAdminAddressNeedsAToken(_ address: String) throws {
        let faults = try faults("{ listen: \"\(address)\" }")
        #expect(faults.count == 1)
        #expect(faults.first?.hasPrefix("admin.listen: others than this machine can reach it") == true)
        let secrets = try secrets("{ listen: \"\(address)\", token_file: token }", file: Self.token + "\n")
        #expect(secrets.adminToken?.value == Self.token)
    }

    @Test func environmentTokenPrecedesTheFile() throws {
        let other = "fedcba9876543210"
        let secrets = try secrets(
            "{ listen: \"0.0.0.0:1\", token_file: token }",
            environment: ["FANFARE_ADMIN_TOKEN": other],
            file: Self.token
        )
        #expect(secrets.adminToken?.value == other)
    }

    @Test(arguments: ["short", "", "two words of some length", "0123456789abcdéf"])
    func shortOrUnprintableTokenIsRefused(_ token: String) throws {
        let faults = try faults("{ listen: \"127.0.0.1:0\", token_file: token }", file: token)
        #expect(faults.count == 1 && faults.first?.contains("16 characters or more") == true)
        if !token.isEmpty {
            let variable = try self.faults("{ listen: \"127.0.0.1:0\" }", environment: ["FANFARE_ADMIN_TOKEN": token])
            #expect(variable.first?.hasPrefix("FANFARE_ADMIN_TOKEN: must hold one token") == true)
            #expect(variable.first?.contains(token) != true)
        }
    }

    @Test func tokenIsNotPrinted() throws {
        let configuration = try Configuration.load(yaml: "", environment: ["FANFARE_ADMIN_TOKEN": Self.token])
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(configuration.admin.token?.value == Self.token)
        #expect(!dumped.contains(Self.token) && !"\(configuration)".contains(Self.token))
    }

    @Test func tokenWithoutAnAddressWarns() throws {
        let configuration = try Configuration.load(yaml: "admin: { token_file: token }")
        #expect(
            configuration.warnings == ["admin.token_file: has no effect without admin.listen or gateway.admin_listen"]
        )
    }

    @Test func addressOfTheGatewayNeedsTheToken() throws {
        let yaml = "gateway: { admin_listen: \"0.0.0.0:9465\" }"
        let open = try Configuration.load(yaml: yaml)
        let error = #expect(throws: ConfigurationError.self) { _ = try open.loadGateway() }
        #expect(error?.faults.count == 1)
        #expect(error?.faults.first?.hasPrefix("gateway.admin_listen: others than this machine can reach it") == true)
        let guarded = try Configuration.load(yaml: yaml, environment: ["FANFARE_ADMIN_TOKEN": Self.token])
        #expect(try guarded.loadGateway().adminToken?.value == Self.token)
        #expect(try Configuration.load(yaml: "").loadGateway().adminToken == nil)
    }

    @Test func listenAddressesAreParsed() {
        #expect(ListenAddress("[::1]:9") == .tcp(host: "::1", port: 9))
        #expect(ListenAddress("LOCALHOST:0") == .tcp(host: "localhost", port: 0))
        #expect(ListenAddress("unix:///a") == .unix(path: "/a"))
        for text in [
            "", ":9", "host", "host:", "host:x", "host:+9", "host:65536", "unix://", "unix:///", "unix://a", "a b:9",
        ] {
            #expect(ListenAddress(text) == nil, "\(text)")
        }
        #expect(ListenAddress("unix:///" + String(repeating: "a", count: 107)) == nil)
    }
}
