import CurlTransport
import EventLoop
import FanfareModel
import Foundation
import HTTPLanes
import TestSupport
import Testing

/// Origins that are not there, not who they say they are, or not allowed: nothing leaves, and it is known at once.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ReachTests {
    @Test(arguments: TestedEngine.tested) func portWithoutListenerIsUnsent(engine: TestedEngine) throws {
        let harness = try PoolHarness(engine: engine)
        let outcomes = harness.run(3, url: "https://localhost:1/x", limitMs: 5_000)
        #expect(outcomes.kinds == ["unsent": 3])
        #expect(harness.timedOut == false)
    }

    @Test(arguments: TestedEngine.tested) func freeSlotsFallWhileTheOriginIsUnreachableAndRiseAfterwards(
        engine: TestedEngine
    ) throws {
        let harness = try PoolHarness(engine: engine)
        harness.run(1, url: "https://localhost:1/x")
        #expect(harness.pool.freeSlots == 0)
        var turns = 0
        harness.loop.onTurnEnd { if harness.pool.freeSlots > 0 { turns += 1 } }
        harness.run(1, url: "https://localhost:1/x")
        #expect(turns > 0)
    }

    @Test(arguments: TestedEngine.tested) func unknownNameIsUnsent(engine: TestedEngine) throws {
        let harness = try PoolHarness(engine: engine)
        #expect(harness.run(1, url: "https://nowhere.invalid/x").kinds == ["unsent": 1])
    }

    @Test(arguments: TestedEngine.tested) func certificatesAreChecked(engine: TestedEngine) throws {
        let made = try Certificates.shared.get()
        for pair in [made.otherName, made.expired] {
            let peer = try ScriptedPeer(certificate: pair, arguments: [])
            let harness = try PoolHarness(engine: engine)
            let outcomes = harness.run(2, url: peer.url)
            #expect(outcomes.kinds == ["unsent": 2])
            #expect(engine.saysCertificate(outcomes.first), "\(outcomes)")
            #expect(outcomes.first?.reason.contains("tls.ca_file") == false, "no authority would help: \(outcomes)")
            #expect(try peer.ledger().requests.isEmpty)
        }
    }

    @Test(arguments: TestedEngine.tested) func privateAuthorityIsRefusedUnlessConfigured(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.caFile = nil }
        let outcomes = harness.run(1, url: peer.url)
        #expect(outcomes.kinds == ["unsent": 1])
        #expect(engine.saysCertificate(outcomes.first), "\(outcomes)")
        #expect(outcomes.first?.reason.contains("tls.ca_file") == true, "\(outcomes)")
    }

    @Test(arguments: TestedEngine.tested) func theEnvironmentsProxyIsIgnored(engine: TestedEngine) throws {
        let names = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy"]
        for name in names { setenv(name, "http://127.0.0.1:1", 1) }
        defer { for name in names { unsetenv(name) } }
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine)
        #expect(harness.run(1, url: peer.url).kinds == ["200": 1])
        guard engine == .curl else { return }
        let report = try EndpointProbe.run(url: peer.url, body: [1], configuration: try trusting())
        #expect(report.answer.status == 200 && report.isHTTP2)
    }

    /// The proxy answers 407 to everybody, as one with another password would.
    @Test func proxysUserSignsInAndA407NamesTheSettings() throws {
        let proxy = try RefusingProxy()
        var configuration = try trusting()
        configuration.proxy = HTTPProxy(
            address: "http://127.0.0.1:\(proxy.port)",
            user: "us er",
            password: "p@ss:w/rd%"
        )
        let failure = try #require(throws: EndpointProbe.Failure.self) {
            _ = try EndpointProbe.run(url: "https://localhost:1/", body: [1], configuration: configuration)
        }
        #expect(failure.reason.kind == .proxyLogin, "\(failure)")
        let head = proxy.head()
        #expect(head.hasPrefix("CONNECT localhost:1 HTTP/1.1\r\n"))
        // Base64 of `us er:p@ss:w/rd%`.
        #expect(head.contains("\r\nProxy-Authorization: Basic dXMgZXI6cEBzczp3L3JkJQ==\r\n"), "\(head)")
        #expect(!"\(failure.reason)".contains("p@ss"))
    }

    /// Every header that goes out is one that was meant to; above all none that asks for packed bodies.
    @Test(arguments: TestedEngine.tested) func requestHasOnlyTheIntendedHeaders(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine)
        harness.run(1, url: peer.url)
        let names = try peer.ledger().requests.flatMap { $0.headers.map { $0[0] } }
        let meant = [
            ":method", ":path", ":scheme", ":authority", "accept", "content-type", "authorization", "content-length",
        ]
        #expect(Set(names) == Set(meant), "\(names)")
    }

    private func trusting() throws -> OriginConfiguration {
        OriginConfiguration(caFile: try Certificates.shared.get().authority)
    }

    @Test func probeRefusesUntrustedCertificates() throws {
        let made = try Certificates.shared.get()
        for pair in [made.otherName, made.expired] {
            let peer = try ScriptedPeer(certificate: pair, arguments: [])
            let failure = #expect(throws: EndpointProbe.Failure.self) {
                try EndpointProbe.run(url: peer.url, body: [1], configuration: trusting())
            }
            #expect(failure?.reason.kind == .certificate)
            let stranger = #expect(throws: EndpointProbe.Failure.self) {
                try EndpointProbe.connect(host: "localhost", port: peer.port, configuration: trusting())
            }
            #expect(stranger?.reason.kind == .certificate)
            #expect(try peer.ledger().requests.isEmpty)
        }
        let injected = #expect(throws: EndpointProbe.Failure.self) {
            try EndpointProbe.run(url: "https://localhost:1/", headers: ["A: b\r\nC: d"], configuration: trusting())
        }
        #expect(injected?.reason.description.hasPrefix("header:") == true)
        let nobody = #expect(throws: EndpointProbe.Failure.self) {
            try EndpointProbe.connect(host: "localhost", port: 1, configuration: trusting())
        }
        #expect(nobody?.reason.kind == .connection)
    }

    @Test(arguments: TestedEngine.tested) func invalidRequestNeverLeaves(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine)
        let good = HTTPRequest(tag: 1, url: peer.url, headers: ["A: b"], body: [1])
        #expect(harness.run(good)?.kind == "200")
        var bad = good
        bad.tag = 2
        bad.headers = ["A: b\r\nX-Injected: 1"]
        #expect(harness.run(bad)?.reason.hasPrefix("header:") == true)
        bad = good
        bad.tag = 3
        bad.url = "https://localhost:\(peer.port + 1)/x"
        #expect(harness.run(bad)?.reason.hasPrefix("url:") == true)
        #expect(try peer.ledger().requests.count == 1)
    }

    @Test(arguments: TestedEngine.tested) func closingCompletesRequestsInFlight(engine: TestedEngine) throws {
        let peer = try ScriptedPeer(rules: #"[{"action":"hang"}]"#, streams: 10)
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        let outcomes = harness.run(50, url: peer.url) { harness in
            harness.loop.schedule(afterMilliseconds: 1_500) { harness.pool.close() }
        }
        #expect(outcomes.kinds == ["ambiguous": 10, "unsent": 40])
        #expect(harness.surplus == 0)
        #expect(try peer.ledger().received.count == 10)
    }
}

extension TestedEngine {
    /// Whether an outcome's reason names the server's certificate.
    fileprivate func saysCertificate(_ outcome: RequestOutcome?) -> Bool {
        guard let reason = outcome?.reason else { return false }
        return switch self {
        case .curl: reason.hasPrefix("libcurl 60")
        case .nghttp2: reason.contains("certificate verify failed")
        }
    }
}

/// Answers 407 to the first request, on a thread of its own.
private final class RefusingProxy: Sendable {
    let port: Int
    private let listener: Int32
    private let received = Locked("")
    private let isDone = DispatchSemaphore(value: 0)

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else { throw TestFailure("cannot listen: errno \(errno)") }
        port = Int(UInt16(bigEndian: address.sin_port))
        listener = descriptor
        Thread.detachNewThread { [self] in serve() }
    }

    deinit { close(listener) }

    /// The first request's head, once it was answered.
    func head() -> String {
        isDone.wait()
        return received.withLock { $0 }
    }

    private func serve() {
        defer { isDone.signal() }
        let peer = accept(listener, nil, nil)
        guard peer >= 0 else { return }
        defer { close(peer) }
        var (head, buffer) = ("", [UInt8](repeating: 0, count: 4_096))
        while !head.contains("\r\n\r\n") {
            let count = recv(peer, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            head += String(decoding: buffer[..<count], as: UTF8.self)
        }
        received.withLock { [head] in $0 = head }
        let answer =
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\n"
            + "Content-Length: 0\r\nConnection: close\r\n\r\n"
        _ = send(peer, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
    }
}
