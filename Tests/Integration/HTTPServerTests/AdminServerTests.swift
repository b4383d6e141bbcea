import CoreMetrics
import FanfareAdmin
import FanfareConfiguration
import FanfareMetrics
import FanfareModel
import Foundation
import Logging
import TestSupport
import Testing

/// The running server, requested with curl.
@Suite struct AdminServerTests {
    private static let registry: MetricRegistry = {
        let registry = MetricRegistry()
        registry.counter(MetricCatalogue.redisErrors).add()
        return registry
    }()

    private static let probes = AdminProbes(
        registry: registry,
        health: { AdminReport(isGood: true) },
        readiness: { AdminReport(isGood: false) }
    )

    /// Starts a server that runs until the tests end.
    private static func start(_ address: ListenAddress, token: String? = nil) async throws -> ListenAddress {
        let server = AdminServer(
            address: address,
            token: token.map { BearerToken($0) },
            probes: probes,
            logger: Logger(label: "test")
        )
        let (bound, announce) = AsyncThrowingStream<ListenAddress, any Error>.makeStream()
        Task {
            do {
                try await server.run { announce.yield($0) }
                announce.finish()
            } catch {
                announce.finish(throwing: error)
            }
        }
        var addresses = bound.makeAsyncIterator()
        let first = try await addresses.next()
        return try #require(first)
    }

    private static func startOnAPort(host: String = "127.0.0.1", token: String? = nil) async throws -> Int {
        let address = try await start(.tcp(host: host, port: 0), token: token)
        guard case .tcp(let bound, let port) = address else { throw TestFailure("no port: \(address)") }
        #expect(bound == host && port > 0)
        return port
    }

    /// Status, headers and body, as curl shows them.
    private static func curl(_ arguments: String...) async throws -> String {
        try await run("/usr/bin/curl", ["-s", "-i", "--max-time", "60", "--noproxy", "*"] + arguments)
    }

    /// Sends bytes and returns everything that the server sends until it closes the connection.
    private static func answer(to request: String, port: Int) async throws -> String {
        let script = #"exec 3<>"/dev/tcp/127.0.0.1/$1"; printf '%s' "$2" >&3; exec timeout 60 cat <&3"#
        return try await run("/bin/bash", ["-c", script, "bash", "\(port)", request])
    }

    /// Runs a program without blocking the threads that the server needs.
    private static func run(_ program: String, _ arguments: [String]) async throws -> String {
        let folder = try TemporaryFolder()
        let output = try folder.write("answer", "")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do { try startProcess(process) } catch { continuation.resume(throwing: error) }
        }
        return try String(contentsOfFile: output, encoding: .utf8)
    }

    @Test func portZeroReportsTheBoundPort() async throws {
        let port = try await Self.startOnAPort()
        let metrics = try await Self.curl("http://127.0.0.1:\(port)/metrics")
        #expect(metrics.hasPrefix("HTTP/1.1 200"))
        #expect(metrics.contains("text/plain; version=0.0.4; charset=utf-8"))
        let body = PrometheusText.render(Self.registry)
        #expect(metrics.hasSuffix("\r\n\r\n" + body) && body.hasSuffix("fanfare_redis_errors_total 1\n"))
        let head = try await Self.curl("-I", "http://127.0.0.1:\(port)/metrics")
        #expect(head.hasPrefix("HTTP/1.1 200") && head.lowercased().contains("content-length: \(body.utf8.count)"))
        let ready = try await Self.curl("http://127.0.0.1:\(port)/readyz")
        #expect(ready.hasPrefix("HTTP/1.1 503"))
        let foreign = try await Self.curl("-H", "Host: evil.example", "http://127.0.0.1:\(port)/metrics")
        #expect(foreign.hasPrefix("HTTP/1.1 403"))
        let posted = try await Self.curl("-d", "x", "http://127.0.0.1:\(port)/metrics")
        #expect(posted.hasPrefix("HTTP/1.1 405"))
    }

    @Test func publicAddressRequiresTheToken() async throws {
        let port = try await Self.startOnAPort(host: "0.0.0.0", token: "0123456789abcdef")
        let url = "http://127.0.0.1:\(port)/metrics"
        let none = try await Self.curl(url)
        #expect(none.hasPrefix("HTTP/1.1 401") && none.lowercased().contains("www-authenticate: bearer"))
        let wrong = try await Self.curl("-H", "Authorization: Bearer 0123456789abcdeg", url)
        #expect(wrong.hasPrefix("HTTP/1.1 401"))
        let right = try await Self.curl("-H", "Authorization: Bearer 0123456789abcdef", url)
        #expect(right.hasPrefix("HTTP/1.1 200"))
    }

    /// RFC 9110, section 6.6.1: a server with a clock dates its answers.
    @Test func everyAnswerIsDated() async throws {
        let port = try await Self.startOnAPort()
        for path in ["healthz", "missing"] {
            let before = Int64(Date().timeIntervalSince1970) * 1_000
            let lines = try await Self.curl("http://127.0.0.1:\(port)/\(path)").split(separator: "\r\n")
            let dates = lines.filter { $0.lowercased().hasPrefix("date: ") }.map {
                HTTPDate.milliseconds($0.utf8.dropFirst(6))
            }
            try #require(dates.count == 1)
            let date = try #require(dates[0])
            #expect(date >= before && date <= Int64(Date().timeIntervalSince1970 * 1_000))
        }
    }

    @Test func unixSocketIsForOwnerAndGroupAndNotReplaced() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("admin.sock")
        // What a process that is gone has left does not matter.
        try Self.leaveSocket(path)
        let address = try await Self.start(.unix(path: path))
        let metrics = try await Self.curl("--unix-socket", path, "http://admin/metrics")
        #expect(metrics.hasPrefix("HTTP/1.1 200"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode.map { $0 & 0o777 } == 0o660)
        await #expect(throws: (any Error).self) { try await Self.start(address) }
        let again = try await Self.curl("--unix-socket", path, "http://admin/healthz")
        #expect(again.hasPrefix("HTTP/1.1 200"))
    }

    /// Leaves the file of a socket without a listener.
    private static func leaveSocket(_ path: String) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0 else { throw TestFailure("bind: errno \(errno)") }
    }

    @Test func takenAddressIsAnError() async throws {
        let port = try await Self.startOnAPort()
        let error = await #expect(throws: (any Error).self) {
            try await Self.start(.tcp(host: "127.0.0.1", port: port))
        }
        #expect(error.map { "\($0)" } == "127.0.0.1:\(port) is taken by another program")
    }

    /// More connections than the limit, each with a request that never ends.
    @Test func idleConnectionsDoNotBlockRequests() async throws {
        let port = try await Self.startOnAPort(host: "0.0.0.0", token: "0123456789abcdef")
        let idle = try (0..<200).map { _ in try HalfRequest(port: port) }
        defer { for one in idle { one.close() } }
        // The remaining connections time out after 30 s.
        let answer = try await Self.curl("--max-time", "20", "http://127.0.0.1:\(port)/healthz")
        #expect(answer.hasPrefix("HTTP/1.1 200"))
    }

    /// A connection with an incomplete request.
    private struct HalfRequest {
        private let descriptor: Int32

        init(port: Int) throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = try #require(UInt16(exactly: port)).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let isConnected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            guard isConnected else { throw TestFailure("connect: errno \(errno)") }
            // One that was let go already takes no words.
            _ = Foundation.send(descriptor, "GET /hea", 8, Int32(MSG_NOSIGNAL))
        }

        func close() { _ = Foundation.close(descriptor) }
    }

    @Test(arguments: [
        ("HTTP/1.1", [String](), 400), ("HTTP/1.1", ["127.0.0.1", "evil.example"], 400),
        ("HTTP/1.1", ["127.0.0.1", "127.0.0.1"], 400), ("HTTP/1.1", ["127.0.0.1, evil.example"], 400),
        ("HTTP/1.1", ["127.0.0.1"], 200), ("HTTP/1.0", [], 200), ("HTTP/1.0", ["127.0.0.1", "127.0.0.1"], 400),
    ])
    func repeatedOrMissingHostIsRefused(version: String, hosts: [String], status: Int) async throws {
        let port = try await Self.startOnAPort()
        let lines = hosts.map { "Host: \($0)\r\n" }.joined()
        let request = "GET /metrics \(version)\r\n\(lines)Connection: close\r\n\r\n"
        let answer = try await Self.answer(to: request, port: port)
        #expect(answer.hasPrefix("\(version) \(status)") || answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer)")
        #expect(answer.contains("fanfare_redis_errors_total") == (status == 200))
    }

    /// Requests of a connection are answered in order; those after a refused one are ignored.
    @Test func refusalFollowsTheRepliesBeforeIt() async throws {
        let port = try await Self.startOnAPort()
        let good = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        let answer = try await Self.answer(to: good + "GET /metrics HTTP/1.1\r\n\r\n" + good, port: port)
        let statuses = answer.matches(of: /HTTP\/1\.1 (\d+)/).map { String($0.1) }
        #expect(statuses == ["200", "400"], "\(answer)")
    }

    /// A body of unknown length is never read as a next request.
    @Test(arguments: [
        ("Transfer-Encoding: xchunked\r\n", ["400"]), ("Transfer-Encoding: identity\r\n", ["400"]),
        ("Transfer-Encoding: gzip\r\n", ["400"]), ("Transfer-Encoding: gzip, chunked\r\n", ["400"]),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", ["400"]), ("Transfer-Encoding: \r\n", ["400"]),
        ("Transfer-Encoding: Chunked\r\n", ["200", "200"]), ("", ["200", "400"]),
    ])
    func unknownTransferEncodingIsRefused(lines: String, statuses: [String]) async throws {
        let port = try await Self.startOnAPort()
        let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\(lines)\r\n0\r\n\r\n"
        let next = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        let answer = try await Self.answer(to: request + next, port: port)
        #expect(answer.matches(of: /HTTP\/1\.1 (\d+)/).map { String($0.1) } == statuses, "\(answer)")
    }

    @Test func endlessHeadersAreRefused() async throws {
        let port = try await Self.startOnAPort()
        let long = String(repeating: "a", count: 100_000)
        let answer = try await Self.curl("-H", "X-Long: \(long)", "http://127.0.0.1:\(port)/metrics")
        #expect(!answer.contains("fanfare_redis_errors_total"))
        let after = try await Self.curl("http://127.0.0.1:\(port)/metrics")
        #expect(after.hasPrefix("HTTP/1.1 200"))
    }
}
