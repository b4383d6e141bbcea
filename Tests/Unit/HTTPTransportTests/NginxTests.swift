import CurlTransport
import EventLoop
import Foundation
import HTTPLanes
import Testing

/// A real server that ends its connections often.
@Suite(.serialized, .timeLimit(.minutes(2)), .enabled(if: Nginx.isInstalled))
struct NginxTests {
    @Test(arguments: [5, 100])
    func shortConnectionsLoseAndRepeatNothing(keepalive: Int) throws {
        let nginx = try Nginx(keepaliveRequests: keepalive)
        let harness = try PoolHarness { $0.maxLanes = 4 }
        let outcomes = harness.run(500, url: nginx.url, timeoutMs: 15_000)
        let kinds = outcomes.kinds
        #expect(kinds["200", default: 0] + kinds["refused", default: 0] == 500, "\(outcomes.summary)")
        // A request that meets three ends in a row comes back as refused, which is safe to send again.
        if keepalive == 100 { #expect(kinds["refused", default: 0] <= 25) }
        let answered = kinds["200", default: 0]
        #expect(try nginx.served(expecting: answered) == answered, "\(outcomes.summary)")
    }

    @Test func reloadUnderLoadLosesAndRepeatsNothing() throws {
        let nginx = try Nginx(keepaliveRequests: 1_000)
        let harness = try PoolHarness { $0.maxLanes = 4 }
        let outcomes = harness.run(8_000, url: nginx.url, timeoutMs: 15_000) { harness in
            for at in [30, 200, 400] as [Int64] {
                harness.loop.schedule(afterMilliseconds: at) { try? nginx.reload() }
            }
        }
        let kinds = outcomes.kinds
        #expect(kinds["200", default: 0] + kinds["refused", default: 0] == 8_000, "\(outcomes.summary)")
        #expect(kinds["refused", default: 0] <= 80)
        let answered = kinds["200", default: 0]
        #expect(try nginx.served(expecting: answered) == answered, "\(outcomes.summary)")
    }
}

/// nginx with a canned answer, and a log line for each request it served.
final class Nginx {
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: "/usr/sbin/nginx") }

    let port: Int
    private let directory: String
    private let process = Process()

    init(keepaliveRequests: Int) throws {
        directory = try makeTemporaryDirectory("nginx")
        port = try Self.freePort()
        let pair = try Certificates.shared.get().server
        let configuration = """
            daemon off; master_process on; worker_processes 1; pid \(directory)/pid; error_log \(directory)/error.log;
            events { worker_connections 4096; }
            http {
                access_log off;
                client_body_temp_path \(directory)/body; proxy_temp_path \(directory)/proxy;
                server {
                    listen 127.0.0.1:\(port) ssl http2;
                    ssl_certificate \(pair.certificate); ssl_certificate_key \(pair.key);
                    keepalive_requests \(keepaliveRequests); http2_max_concurrent_streams 128;
                    # A proxy answers only once it has the whole body; `return` would answer the headers alone.
                    location / { access_log \(directory)/access.log; proxy_pass http://unix:\(directory)/inner; }
                }
                server {
                    listen unix:\(directory)/inner;
                    location / { default_type application/json; return 200 '{"name":"n"}'; }
                }
            }
            """
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: directory + "/nginx.conf"))
        process.executableURL = URL(fileURLWithPath: "/usr/sbin/nginx")
        process.arguments = ["-p", directory, "-c", directory + "/nginx.conf"]
        process.standardError = FileHandle.nullDevice
        try process.run()
        // It listens before it writes its process id.
        let deadline = Date(timeIntervalSinceNow: 10)
        while !FileManager.default.fileExists(atPath: directory + "/pid"), Date() < deadline { usleep(2_000) }
    }

    deinit {
        // It was never started if `init` threw.
        if process.isRunning {
            process.terminate()
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(atPath: directory)
    }

    var url: String { "https://localhost:\(port)/v1/projects/p/messages:send" }

    func reload() throws { kill(process.processIdentifier, SIGHUP) }

    /// How many requests it answered with 200. It writes the last lines after the answers are out, so a count that is
    /// still short of what is expected is looked at again for a while.
    func served(expecting count: Int) throws -> Int {
        let deadline = Date(timeIntervalSinceNow: 5)
        while true {
            let log = try String(contentsOfFile: directory + "/access.log", encoding: .utf8)
            let served = log.split(separator: "\n").filter { $0.contains("\" 200 ") }.count
            if served >= count || Date() >= deadline { return served }
            usleep(5_000)
        }
    }

    private static func freePort() throws -> Int {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(fd) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(fd, address, length) == 0 ? getsockname(fd, address, &length) : -1
            }
        }
        try #require(code == 0)
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
