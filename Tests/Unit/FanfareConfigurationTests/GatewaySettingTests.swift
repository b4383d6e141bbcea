import FanfareCore
import Foundation
import TestSupport
import Testing

@testable import FanfareConfiguration

/// The section `gateway`.
@Suite struct GatewaySettingTests {
    private func faults(_ gateway: String) -> [String] {
        do throws(ConfigurationError) { _ = try Configuration.load(yaml: "gateway: \(gateway)") } catch {
            return error.faults
        }
        return []
    }

    @Test func defaultsAreThoseOfTheContract() throws {
        let gateway = try Configuration.load(yaml: "").gateway
        #expect(gateway.listen == .tcp(host: "127.0.0.1", port: 8_470) && !gateway.isBehindProxy)
        #expect(gateway.certificateFile == nil && gateway.keyFile == nil && gateway.keysFolder == nil)
        #expect(gateway.waitMs == 4_000 && gateway.maximumWaiting == 20_000 && gateway.maximumConnections == 10_000)
    }

    @Test func everySettingIsRead() throws {
        let yaml = """
            gateway:
              listen: 0.0.0.0:8443
              cert_file: gateway.pem
              key_file: gateway.key
              keys_dir: gateway-keys.d
              wait_ms: 0
              max_waiting: 7
              max_connections: 8
            """
        let gateway = try Configuration.load(yaml: yaml, directory: "/etc/fanfare/").gateway
        #expect(gateway.listen == .tcp(host: "0.0.0.0", port: 8_443))
        #expect(gateway.certificateFile?.path == "/etc/fanfare/gateway.pem")
        #expect(gateway.keyFile?.path == "/etc/fanfare/gateway.key")
        #expect(gateway.keysFolder?.path == "/etc/fanfare/gateway-keys.d")
        #expect(gateway.waitMs == 0 && gateway.maximumWaiting == 7 && gateway.maximumConnections == 8)
    }

    @Test(arguments: [
        "{}", "{ listen: \"127.0.0.1:0\" }", "{ listen: \"[::1]:8443\" }", "{ listen: localhost:8443 }",
        "{ listen: \"unix:/run/fanfare/gateway.sock\" }", "{ listen: \"unix:///run/fanfare/gateway.sock\" }",
        "{ listen: \"0.0.0.0:80\", behind_proxy: true }", "{ listen: \"0.0.0.0:443\", cert_file: c, key_file: k }",
    ])
    func addressWithTLSOrOfThisMachineIsAccepted(gateway: String) { #expect(faults(gateway) == []) }

    @Test(arguments: ["0.0.0.0:8443", "[::]:8443", "10.0.0.7:80", "gateway.example.com:443"])
    func publicAddressWithoutTLSIsRefusedWithThreeRemedies(address: String) throws {
        let found = faults("{ listen: \"\(address)\" }")
        let fault = try #require(found.first)
        #expect(found.count == 1 && fault.hasPrefix("gateway.listen: others than this machine can reach \(address)"))
        for remedy in ["gateway.cert_file and gateway.key_file", "gateway.behind_proxy: true", "127.0.0.1"] {
            #expect(fault.contains(remedy), "\(remedy)")
        }
    }

    @Test(arguments: ["{ cert_file: c }", "{ key_file: k }", "{ key_file: k, listen: \"0.0.0.0:1\" }"])
    func certificateAndKeyGoTogether(gateway: String) {
        #expect(faults(gateway) == ["gateway: cert_file and key_file go together"])
    }

    @Test(arguments: [
        ("{ wait_ms: 60001 }", "gateway.wait_ms (line 1): 60001, must be 0 to 60000"),
        ("{ max_waiting: 0 }", "gateway.max_waiting (line 1): 0, must be 1 to 1000000"),
        ("{ max_connections: 0 }", "gateway.max_connections (line 1): 0, must be 1 to 1000000"),
        ("{ listen: \"8470\" }", "gateway.listen (line 1): must be host:port or unix:///path"),
        ("{ behind_proxy: maybe }", "gateway.behind_proxy (line 1): maybe is none of false, true"),
        ("{ key_dir: a }", "gateway.key_dir (line 1): unknown key; did you mean gateway.keys_dir?"),
    ])
    func faultNamesTheSetting(gateway: String, fault: String) { #expect(faults(gateway) == [fault]) }

    @Test func certificateBehindAProxyWarns() throws {
        let yaml = "gateway: { behind_proxy: true, cert_file: c, key_file: k }"
        let warnings = try Configuration.load(yaml: yaml).warnings
        #expect(warnings.count == 1 && warnings.first?.hasPrefix("gateway.cert_file: has no effect") == true)
    }

    @Test func unixAddressIsReadInBothForms() {
        #expect(ListenAddress("unix:/a/b") == .unix(path: "/a/b"))
        #expect(ListenAddress("unix:///a/b") == .unix(path: "/a/b"))
        for text in ["unix:/", "unix:", "unix:a", "unix:" + String(repeating: "/a", count: 60)] {
            #expect(ListenAddress(text) == nil, "\(text)")
        }
    }

    @Test func filesOfTheGatewayAreCheckedForTheGatewayOnly() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("key", "AAAA")
        _ = try folder.write("gateway.pem", "no certificate")
        let file = try folder.write(
            "fanfare.yaml",
            """
            projects: { a: { transport: legacy, server_key_file: key } }
            gateway: { cert_file: gateway.pem, key_file: gone, keys_dir: nowhere }
            """
        )
        let configuration = try Configuration.load(file: file, environment: [:])
        #expect(throws: Never.self) { try configuration.loadSecrets() }
        let error = try #require(throws: ConfigurationError.self) { try configuration.loadGateway() }
        #expect(error.faults.count == 3, "\(error.faults)")
        for (fault, start) in zip(error.faults, ["cert_file", "key_file", "keys_dir"]) {
            #expect(fault.hasPrefix("gateway.\(start) (line 2): "), "\(fault)")
        }
        #expect(error.faults.last?.contains("`fanfare gateway key add` makes it") == true)
        #expect(try Configuration.load(yaml: "").loadGateway().keys == KeyTable())
    }
}
