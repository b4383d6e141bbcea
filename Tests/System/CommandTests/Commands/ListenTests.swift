import Foundation
import TestSupport
import Testing

@testable import fanfare

/// Errors of addresses that a server cannot listen on.
@Suite struct ListenTests {
    /// A port that is taken for the lifetime of this object.
    private final class TakenPort: Sendable {
        let number: Int
        private let descriptor: Int32

        init() throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isTaken = withUnsafeMutablePointer(to: &address) { [descriptor] pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, size) == 0 && listen(descriptor, 1) == 0
                        && getsockname(descriptor, $0, &size) == 0
                }
            }
            guard isTaken else { throw TestFailure("no port: errno \(errno)") }
            number = Int(UInt16(bigEndian: address.sin_port))
        }

        deinit { close(descriptor) }
    }

    private static let nowhere = ["--redis", "unix:///nowhere/redis.sock"]

    @Test func takenPortIsNamedWithItsOption() async throws {
        let port = try TakenPort()
        let taken = "127.0.0.1:\(port.number) is taken by another program; choose another with"
        let dashboard = try await CommandRun(["dashboard", "--listen", "127.0.0.1:\(port.number)"] + Self.nowhere)
        #expect(dashboard.status == 69)
        #expect(dashboard.err.hasSuffix("fanfare: dashboard: \(taken) --listen\n"), "\(dashboard.err)")
        let folder = try TemporaryFolder()
        let sandbox = try await CommandRun(
            ["sandbox", "--state", folder.path, "--port", "0", "--control-port", "\(port.number)", "--project", "demo"]
        )
        #expect(sandbox.status == 69 && sandbox.err.contains("sandbox: \(taken) --control-port\n"), "\(sandbox.err)")
        withExtendedLifetime(port) {}
    }

    @Test(arguments: [
        (["--port", "99999"], "sandbox: --port: 99999 is not within 0 to 65535"),
        (["--project", "BAD"], "sandbox: --project: BAD is not of the form"),
        (["--fanout-rate", "0"], "sandbox: --fanout-rate: 0 is not within"),
    ])
    func invalidSandboxOptionExitsWith64(arguments: [String], reason: String) async throws {
        let folder = try TemporaryFolder()
        let run = try await CommandRun(["sandbox", "--state", folder.path, "--project", "demo"] + arguments)
        #expect(run.status == 64 && run.err.contains(reason), "\(run.err)")
    }

    @Test(arguments: [
        ("192.0.2.1:8490", "192.0.2.1:8490 is not an address of this machine"),
        ("no.such.host.invalid:8490", "no.such.host.invalid:8490 has an unknown host"),
    ])
    func unusableListenAddressExitsWith69(address: String, reason: String) async throws {
        let token = ["FANFARE_DASHBOARD_TOKEN": "a-token-of-some-length"]
        let run = try await CommandRun(["dashboard", "--listen", address] + Self.nowhere, environment: token)
        #expect(
            run.status == 69 && run.err.contains("dashboard: \(reason); choose another with --listen"),
            "\(run.err)"
        )
    }

    @Test func emptyTokenFileExitsWith78() async throws {
        let folder = try TemporaryFolder()
        let run = try await CommandRun(
            ["dashboard", "--token-file", try folder.write("token", "")] + Self.nowhere
        )
        #expect(run.status == 78 && run.err.contains("--token-file: the file is empty"), "\(run.err)")
    }
}
