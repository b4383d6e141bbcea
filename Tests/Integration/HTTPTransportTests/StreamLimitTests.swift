import EventLoop
import FanfareModel
import Testing

@testable import CurlTransport
@testable import HTTPLanes

/// The server's stream limit, which libcurl does not report, and lanes that stop answering.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct StreamLimitTests {
    @Test(arguments: TestedEngine.tested) func singleStreamLimitIsDetectedAndKept(engine: TestedEngine) throws {
        let peer = try ScriptedPeer(streams: 1)
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 2 }
        let outcomes = harness.run(40, url: peer.url, timeoutMs: 15_000)
        let ledger = try peer.ledger()
        if engine == .nghttp2 {
            // The limit is read from the server's settings: no stream is ever refused.
            #expect(outcomes.kinds == ["200": 40])
            #expect(ledger.requests.count == 40)
        } else {
            #expect(outcomes.kinds["200", default: 0] >= 36, "\(outcomes.kinds)")
        }
        #expect(ledger.processed.values.allSatisfy { $0 == 1 })
    }

    @Test(arguments: TestedEngine.tested) func changingStreamLimitIsFollowed(engine: TestedEngine) throws {
        let peer = try ScriptedPeer(rules: #"[{"action":"answer","status":200,"body":"{}","delay_ms":20}]"#)
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        #expect(harness.run(200, url: peer.url).kinds == ["200": 200])
        peer.command(#"{"do":"streams","count":1}"#)
        #expect(harness.run(40, url: peer.url, timeoutMs: 15_000).kinds == ["200": 40])
        // Later versions of libcurl take the body at once and hold the stream back themselves.
        if engine == .nghttp2 || engine.isCurl7 { #expect(harness.pool.planner.learned < 50) }
        peer.command(#"{"do":"streams","count":100}"#)
        #expect(harness.run(300, url: peer.url, timeoutMs: 15_000).kinds == ["200": 300])
        let ledger = try peer.ledger()
        #expect(ledger.received.count == 540)
        #expect(ledger.received.values.allSatisfy { $0 == 1 })
    }

    @Test(arguments: TestedEngine.tested) func zeroStreamLimitPausesTheLaneUntilItRises(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        harness.run(20, url: peer.url)
        peer.command(#"{"do":"streams","count":0}"#)
        let outcomes = harness.run(20, url: peer.url, timeoutMs: 15_000) { harness in
            harness.loop.schedule(afterMilliseconds: 1_500) { peer.command(#"{"do":"streams","count":100}"#) }
        }
        // What was on its way when the limit fell may be refused by the peer's library; nothing is processed twice.
        #expect(outcomes.kinds["unsent", default: 0] == 0, "\(outcomes.kinds)")
        #expect(outcomes.kinds["200", default: 0] >= 18, "\(outcomes.kinds)")
        #expect(try peer.ledger().processed.values.allSatisfy { $0 == 1 })
    }

    @Test(arguments: TestedEngine.tested) func requestThatNeverLeftIsUnsentAtItsDeadline(engine: TestedEngine) throws {
        let peer = try ScriptedPeer(rules: #"[{"action":"hang"}]"#, streams: 10)
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        let outcomes = harness.run(50, url: peer.url, timeoutMs: 1_000)
        let received = try peer.ledger().received
        #expect(received.values.allSatisfy { $0 == 1 })
        // The proof of unsent, checked against the peer: no request that it received is called unsent.
        for (index, outcome) in outcomes.enumerated() {
            if case .unsent = outcome { #expect(received["body-\(index + 1)"] == nil) }
            if received["body-\(index + 1)"] != nil { #expect(outcome.kind == "ambiguous") }
        }
    }

    @Test(arguments: TestedEngine.tested) func silentLaneIsRetired(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        harness.run(10, url: peer.url)
        // Only the first connection goes quiet: the rule is used up by its requests.
        peer.script(#"[{"action":"hang","times":5}]"#)
        #expect(harness.run(5, url: peer.url, timeoutMs: 500).kinds == ["ambiguous": 5])
        #expect(harness.run(10, url: peer.url).kinds == ["200": 10])
        let ledger = try peer.ledger()
        #expect(ledger.connections == 2)
        #expect(ledger.received.values.allSatisfy { $0 == 1 })
    }

    @Test(arguments: TestedEngine.tested) func fewTimeoutsBesideAnswersRetireNoLane(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        harness.run(10, url: peer.url)
        peer.script(#"[{"action":"hang","times":2}]"#)
        let kinds = harness.run(20, url: peer.url, timeoutMs: 500).kinds
        #expect(kinds == ["200": 18, "ambiguous": 2])
        #expect(harness.run(10, url: peer.url).kinds == ["200": 10])
        #expect(try peer.ledger().connections == 1)
    }

    @Test(.enabled(if: TestedEngine.tested.contains(.nghttp2)))
    func requestToAServerWithoutHTTP2IsUnsentOverNghttp2() throws {
        let peer = try ScriptedPeer(arguments: ["--alpn", "http/1.1"])
        let harness = try PoolHarness(engine: .nghttp2)
        let outcomes = harness.run(5, url: peer.url)
        #expect(outcomes.kinds == ["unsent": 5])
        #expect(outcomes.allSatisfy { $0.reason.contains("http_engine: curl") }, "\(outcomes.summary)")
        #expect(try peer.ledger().requests.isEmpty)
    }

    @Test func serversWithoutHTTP2GetOneRequestAtATimeOverCurl() throws {
        let peer = try ScriptedPeer(arguments: ["--alpn", "http/1.1"])
        let harness = try PoolHarness { $0.maximumLanes = 3 }
        #expect(harness.run(30, url: peer.url).kinds == ["200": 30])
        peer.script(#"[{"action":"fin","times":1},{"action":"reset","times":1}]"#)
        let kinds = harness.run(10, url: peer.url).kinds
        // Neither close proves that the request was not processed.
        #expect(kinds == ["200": 8, "ambiguous": 2])
        let ledger = try peer.ledger()
        #expect(ledger.received.count == 40)
        #expect(ledger.received.values.allSatisfy { $0 == 1 })
        // Each close costs the connection libcurl opens before its resend is vetoed, and one that carries on.
        #expect(ledger.connections <= 7)
    }

    @Test(arguments: TestedEngine.tested) func getIsAnswered(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine)
        let outcome = harness.run(HTTPRequest(tag: 7, method: .get, url: "https://localhost:\(peer.port)/a?b=c"))
        #expect(outcome?.kind == "200")
        let entry = try #require(try peer.ledger().requests.first)
        #expect(entry.path == "/a?b=c")
        #expect(entry.headers.contains([":method", "GET"]))
    }
}
