import CurlTransport
import EventLoop
import FanfareModel
import Foundation
import HTTPLanes
import Testing

/// Origins that are not there, not who they say they are, or not allowed: nothing leaves, and it is known at once.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ReachTests {
    @Test func portWithoutListenerIsUnsent() throws {
        let harness = try PoolHarness()
        let outcomes = harness.run(3, url: "https://localhost:1/x", limitMs: 5_000)
        #expect(outcomes.kinds == ["unsent": 3])
        #expect(harness.timedOut == false)
    }

    @Test func freeSlotsFallWhileTheOriginIsUnreachableAndRiseAfterwards() throws {
        let harness = try PoolHarness()
        harness.run(1, url: "https://localhost:1/x")
        #expect(harness.pool.freeSlots == 0)
        var turns = 0
        harness.loop.onTurnEnd { if harness.pool.freeSlots > 0 { turns += 1 } }
        harness.run(1, url: "https://localhost:1/x")
        #expect(turns > 0)
    }

    @Test func unknownNameIsUnsent() throws {
        let harness = try PoolHarness()
        #expect(harness.run(1, url: "https://nowhere.invalid/x").kinds == ["unsent": 1])
    }

    @Test func certificatesAreChecked() throws {
        let made = try Certificates.shared.get()
        for pair in [made.otherName, made.expired] {
            let peer = try ScriptedPeer(certificate: pair)
            let harness = try PoolHarness()
            let outcomes = harness.run(2, url: peer.url)
            #expect(outcomes.kinds == ["unsent": 2])
            #expect(outcomes[0].reason.hasPrefix("libcurl 60"), "\(outcomes)")
            #expect(try peer.ledger().requests.isEmpty)
        }
    }

    @Test func privateAuthorityIsRefusedUnlessConfigured() throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness { $0.caFile = nil }
        let outcomes = harness.run(1, url: peer.url)
        #expect(outcomes.kinds == ["unsent": 1])
        #expect(outcomes[0].reason.hasPrefix("libcurl 60"), "\(outcomes)")
    }

    @Test func theEnvironmentsProxyIsIgnored() throws {
        let names = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy"]
        for name in names { setenv(name, "http://127.0.0.1:1", 1) }
        defer { for name in names { unsetenv(name) } }
        let peer = try ScriptedPeer()
        let harness = try PoolHarness()
        #expect(harness.run(1, url: peer.url).kinds == ["200": 1])
        let report = try EndpointProbe.run(url: peer.url, body: [1], configuration: try trusting())
        #expect(report.answer.status == 200 && report.isHTTP2)
    }

    /// Every header that goes out is one that was meant to; above all none that asks for packed bodies.
    @Test func requestHasOnlyTheIntendedHeaders() throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness()
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
            let peer = try ScriptedPeer(certificate: pair)
            let failure = #expect(throws: EndpointProbe.Failure.self) {
                try EndpointProbe.run(url: peer.url, body: [1], configuration: trusting())
            }
            #expect(failure?.isAboutTLS == true)
            let stranger = #expect(throws: EndpointProbe.Failure.self) {
                try EndpointProbe.connect(host: "localhost", port: peer.port, configuration: trusting())
            }
            #expect(stranger?.isAboutTLS == true)
            #expect(try peer.ledger().requests.isEmpty)
        }
        let injected = #expect(throws: EndpointProbe.Failure.self) {
            try EndpointProbe.run(url: "https://localhost:1/", headers: ["A: b\r\nC: d"], configuration: trusting())
        }
        #expect(injected?.reason.hasPrefix("header:") == true)
        let nobody = #expect(throws: EndpointProbe.Failure.self) {
            try EndpointProbe.connect(host: "localhost", port: 1, configuration: trusting())
        }
        #expect(nobody?.isAboutTLS == false)
    }

    @Test func invalidRequestsNeverReachLibcurl() throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness()
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

    @Test func closingCompletesRequestsInFlight() throws {
        let peer = try ScriptedPeer(rules: #"[{"action":"hang"}]"#, arguments: ["--streams", "10"])
        let harness = try PoolHarness { $0.maxLanes = 1 }
        let outcomes = harness.run(50, url: peer.url) { harness in
            harness.loop.schedule(afterMilliseconds: 1_500) { harness.pool.close() }
        }
        #expect(outcomes.kinds == ["ambiguous": 10, "unsent": 40])
        #expect(harness.surplus == 0)
        #expect(try peer.ledger().received.count == 10)
    }
}
