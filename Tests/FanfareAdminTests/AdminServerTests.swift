import CoreMetrics
import FanfareAdmin
import FanfareMetrics
import Foundation
import Logging
import TestSupport
import Testing

/// The server itself, asked with curl.
@Suite struct AdminServerTests {
    private static let probes = AdminProbes(
        metrics: { "fanfare_up 1\n" },
        metricsType: PrometheusText.contentType,
        health: { AdminReport(isGood: true) },
        readiness: { AdminReport(isGood: false) }
    )

    /// Runs a server for as long as the body takes.
    private static func withServer(
        _ address: AdminAddress,
        token: String? = nil,
        _ body: (AdminAddress) async throws -> Void
    ) async throws {
        let server = AdminServer(
            address: address,
            token: token.map { BearerToken($0) },
            probes: probes,
            logger: Logger(label: "test")
        )
        let (bound, announce) = AsyncThrowingStream<AdminAddress, any Error>.makeStream()
        let task = Task {
            do {
                try await server.run { announce.yield($0) }
                announce.finish()
            } catch {
                announce.finish(throwing: error)
                throw error
            }
        }
        defer { task.cancel() }
        var addresses = bound.makeAsyncIterator()
        let first = try await addresses.next()
        try await body(try #require(first))
        task.cancel()
        _ = await task.result
    }

    /// Status, headers and body, as curl shows them.
    private static func curl(_ arguments: String...) async throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        process.arguments = ["-s", "-i", "--max-time", "30", "--noproxy", "*"] + arguments
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    @Test func aFreePortIsTakenAndNamed() async throws {
        try await Self.withServer(.tcp(host: "127.0.0.1", port: 0)) { address in
            guard case .tcp(let host, let port) = address else { throw TestFailure("no port: \(address)") }
            #expect(host == "127.0.0.1" && port > 0)
            let metrics = try await Self.curl("http://127.0.0.1:\(port)/metrics")
            #expect(metrics.hasPrefix("HTTP/1.1 200"))
            #expect(metrics.contains("text/plain; version=0.0.4; charset=utf-8"))
            #expect(metrics.hasSuffix("\r\n\r\nfanfare_up 1\n"))
            let head = try await Self.curl("-I", "http://127.0.0.1:\(port)/metrics")
            #expect(head.hasPrefix("HTTP/1.1 200") && head.lowercased().contains("content-length: 13"))
            let ready = try await Self.curl("http://127.0.0.1:\(port)/readyz")
            #expect(ready.hasPrefix("HTTP/1.1 503"))
            let foreign = try await Self.curl("-H", "Host: evil.example", "http://127.0.0.1:\(port)/metrics")
            #expect(foreign.hasPrefix("HTTP/1.1 403"))
            let posted = try await Self.curl("-d", "x", "http://127.0.0.1:\(port)/metrics")
            #expect(posted.hasPrefix("HTTP/1.1 405"))
        }
    }

    @Test func aTokenIsAskedForWhereOthersCanConnect() async throws {
        try await Self.withServer(.tcp(host: "0.0.0.0", port: 0), token: "0123456789abcdef") { address in
            guard case .tcp(_, let port) = address else { throw TestFailure("no port: \(address)") }
            let url = "http://127.0.0.1:\(port)/metrics"
            let none = try await Self.curl(url)
            #expect(none.hasPrefix("HTTP/1.1 401") && none.lowercased().contains("www-authenticate: bearer"))
            let wrong = try await Self.curl("-H", "Authorization: Bearer 0123456789abcdeg", url)
            #expect(wrong.hasPrefix("HTTP/1.1 401"))
            let right = try await Self.curl("-H", "Authorization: Bearer 0123456789abcdef", url)
            #expect(right.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test func aUnixSocketIsForOwnerAndGroupAndTakenFromNobody() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("admin.sock")
        // What a process that is gone has left does not matter.
        for _ in 0..<2 {
            try await Self.withServer(.unix(path: path)) { address in
                let metrics = try await Self.curl("--unix-socket", path, "http://admin/metrics")
                #expect(metrics.hasPrefix("HTTP/1.1 200"))
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode.map { $0 & 0o777 } == 0o660)
                await #expect(throws: (any Error).self) { try await Self.withServer(address) { _ in } }
                let again = try await Self.curl("--unix-socket", path, "http://admin/healthz")
                #expect(again.hasPrefix("HTTP/1.1 200"))
            }
        }
    }

    @Test func anAddressThatIsTakenIsAnError() async throws {
        try await Self.withServer(.tcp(host: "127.0.0.1", port: 0)) { address in
            await #expect(throws: (any Error).self) { try await Self.withServer(address) { _ in } }
        }
    }

    @Test func headersWithoutEndAreCutShort() async throws {
        try await Self.withServer(.tcp(host: "127.0.0.1", port: 0)) { address in
            guard case .tcp(_, let port) = address else { throw TestFailure("no port: \(address)") }
            let long = String(repeating: "a", count: 100_000)
            let answer = try await Self.curl("-H", "X-Long: \(long)", "http://127.0.0.1:\(port)/metrics")
            #expect(!answer.contains("fanfare_up"))
            let after = try await Self.curl("http://127.0.0.1:\(port)/metrics")
            #expect(after.hasPrefix("HTTP/1.1 200"))
        }
    }
}
