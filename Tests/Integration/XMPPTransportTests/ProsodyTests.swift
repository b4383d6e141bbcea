import FCMWire
import Foundation
import Glibc
import TestSupport
import Testing
import XMPPTransport

/// A real XMPP server, by its address: it knows no name that TLS could ask for. Our negotiation is the standard's, and
/// so is its answer to a message that only FCM understands.
@Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: Prosody.isInstalled))
struct ProsodyTests {
    @Test func negotiationSucceedsAndAMessageReturnsAsAnError() throws {
        let prosody = try Prosody()
        let harness = try PoolHarness(port: prosody.port, host: "127.0.0.1") { $0.session.user = "123456" }
        let outcomes = harness.run(["token.1", "token.2"])
        #expect(outcomes.map(\.kind) == ["nack", "nack"], "\(harness.warnings)")
        #expect(outcomes.allSatisfy { $0.reason.contains("SERVICE_UNAVAILABLE") })
        #expect(harness.pool.readyConnections == 1)
    }

    @Test func wrongPasswordIsARefusedCredential() throws {
        let prosody = try Prosody()
        let harness = try PoolHarness(port: prosody.port, host: "127.0.0.1") {
            $0.session.user = "123456"
            $0.session.password = "wrong"
        }
        _ = harness.enqueue(["token.1"])
        harness.run(until: { !$0.refusals.isEmpty })
        #expect(harness.refusals.first == "not-authorized", "\(harness.warnings)")
    }
}

/// prosody with one account and TLS from the first byte, in a folder of its own.
final class Prosody {
    private static let path = "/usr/bin/prosody"
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

    let port: Int
    private let folder: TemporaryFolder
    private let process = Process()

    init() throws {
        folder = try TemporaryFolder()
        port = try Self.freePort()
        let identity = try XMPPPeer.identity.get()
        let accounts = folder.file("data/gcm%2egoogleapis%2ecom/accounts")
        try FileManager.default.createDirectory(atPath: accounts, withIntermediateDirectories: true)
        try Data(#"return { ["password"] = "AAAA:secret"; };"#.utf8)
            .write(to: URL(fileURLWithPath: accounts + "/123456.dat"))
        let tls = #"{ certificate = "\#(identity.certFile)"; key = "\#(identity.keyFile)"; }"#
        let configuration = try folder.write(
            "prosody.cfg.lua",
            """
            run_as_root = true
            pidfile = "\(folder.file("pid"))"
            data_path = "\(folder.file("data"))"
            log = { { levels = { min = "info" }, to = "file", filename = "\(folder.file("log"))" } }
            interfaces = { "127.0.0.1" }
            c2s_ports = {}
            s2s_ports = {}
            c2s_direct_tls_ports = { \(port) }
            c2s_direct_tls_ssl = \(tls)
            modules_enabled = { "saslauth" }
            modules_disabled = { "s2s", "offline" }
            authentication = "internal_plain"
            VirtualHost "gcm.googleapis.com"
            ssl = \(tls)
            """
        )
        process.executableURL = URL(fileURLWithPath: Self.path)
        process.arguments = ["-F", "--config", configuration]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try startProcess(process)
        for _ in 0..<200 {
            if Self.isListening(port) { return }
            usleep(50_000)
        }
        let log = (try? String(contentsOfFile: folder.file("log"), encoding: .utf8)) ?? "no log"
        throw TestFailure("prosody does not listen: \(log)")
    }

    deinit {
        // It may have been started with the gentler signals blocked, as the threads of a test run have them.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private static func freePort() throws -> Int {
        try withSocket { fd, address in
            try #require(bind(fd, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0)
            var bound = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutablePointer(to: &bound) { pointer in
                _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(fd, $0, &size) }
            }
            return Int(UInt16(bigEndian: bound.sin_port))
        }
    }

    private static func isListening(_ port: Int) -> Bool {
        let connected = try? withSocket(port: port) { fd, address in
            connect(fd, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
        return connected ?? false
    }

    private static func withSocket<Result>(
        port: Int = 0,
        _ body: (Int32, UnsafePointer<sockaddr>) throws -> Result
    ) throws -> Result {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(fd >= 0)
        defer { close(fd) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { try body(fd, $0) }
        }
    }
}
