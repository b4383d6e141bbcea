import EventLoop
import FanfareModel
import Testing

@testable import CurlTransport
@testable import HTTPLanes

/// Every way in which a connection can end under requests that the peer has taken, on a connection that has answered
/// before and on a new one. A body arrives once; only what the peer disowned arrives again.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ConnectionEndingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let kind: String
        /// The outcome of each request.
        var outcome = "ambiguous"
        let isWarm: Bool

        var testDescription: String { "\(kind), \(isWarm ? "warm" : "cold")" }
    }

    private static let unknown = [
        "close_notify", "fin", "tcp_reset", "goaway_all", "goaway_last", "goaway_error", "data_on_0", "bad_hpack",
        "bad_settings", "window_0", "window_overflow", "push_promise", "http1_text", "reset_no_error", "reset_cancel",
        "reset_http11", "continuation_flood", "settings_flood", "bad_record", "plain_text", "long_frame",
        "long_headers", "all_long_headers",
    ]
    /// The peer says that it did not process the requests.
    private static let refused = ["refused", "goaway_none", "goaway_refused"]
    private static let cut = ["half_body_reset", "half_body_stall"]
    /// A status 200 stands at the front of headers that are too long.
    private static let longHeaders = ["continuation_flood", "long_headers", "all_long_headers"]

    static let rows = [true, false].flatMap { isWarm in
        unknown.map { Row(kind: $0, isWarm: isWarm) } + refused.map { Row(kind: $0, outcome: "200", isWarm: isWarm) }
            + cut.map { Row(kind: $0, outcome: "200 cut", isWarm: isWarm) }
    }

    @Test(arguments: TestedEngine.tested, rows) func possiblyProcessedRequestIsNotResent(engine: TestedEngine, row: Row)
        throws
    {
        let count = 8
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        if row.isWarm { #expect(harness.run(3, url: peer.url).kinds == ["200": 3]) }
        peer.command(#"{"do":"forget"}"#)
        peer.script(#"[{"action":"end","kind":"\#(row.kind)","gather":\#(count),"times":\#(count)}]"#)

        let outcomes = harness.run(count, url: peer.url, timeoutMs: 1_500)
        // libcurl 8 passes on the status of the answer whose headers it then gives up: that outcome is known.
        let known = Self.longHeaders.contains(row.kind) ? outcomes.kinds["200 cut", default: 0] : 0
        #expect(known <= 1)
        let expected = [row.outcome: count - known].merging(known > 0 ? ["200 cut": known] : [:]) { $1 }
        #expect(outcomes.kinds == expected, "\(outcomes.summary)")
        #expect(harness.surplus == 0)
        let ledger = try peer.ledger()
        #expect(ledger.received.count == count)
        #expect(ledger.processed.values.allSatisfy { $0 == 1 }, "\(ledger.processed)")
        // The lane continues, on one more connection at most.
        #expect(harness.run(1, url: peer.url).kinds == ["200": 1])
        #expect(try peer.ledger().connections <= 2)
    }

    @Test(arguments: TestedEngine.tested, ["bad_record", "long_frame", "tcp_reset", "fin", "refused"])
    func connectionEndUnderAHundredRequestsOpensOneMore(engine: TestedEngine, kind: String) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        harness.run(3, url: peer.url)
        peer.command(#"{"do":"forget"}"#)
        peer.script(#"[{"action":"end","kind":"\#(kind)","gather":100,"times":100}]"#)
        let outcomes = harness.run(100, url: peer.url)
        #expect(outcomes.kinds == [kind == "refused" ? "200" : "ambiguous": 100], "\(outcomes.summary)")
        #expect(harness.run(10, url: peer.url).kinds == ["200": 10])
        let ledger = try peer.ledger()
        #expect(ledger.processed.values.allSatisfy { $0 == 1 })
        #expect(ledger.connections == 2)
    }

    /// libcurl writes the reset's code into its text only; the observer of its streams has the number.
    @Test(arguments: TestedEngine.tested, [("reset_calm", 50), ("reset_cancel", 100)])
    func resetThatAsksForLessHalvesTheWindow(engine: TestedEngine, row: (kind: String, limit: Int)) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        #expect(harness.run(3, url: peer.url).kinds == ["200": 3])
        peer.script(#"[{"action":"end","kind":"\#(row.kind)","gather":1,"times":1}]"#)
        #expect(harness.run(1, url: peer.url).kinds == ["ambiguous": 1])
        #expect(harness.pool.lanes.map(\.state.window.limit) == [row.limit])
    }

    /// libcurl 7.88 drops the headers of an answer when a reset arrives with them.
    @Test(arguments: TestedEngine.tested, [("half_body_reset", "application/json"), ("half_page_reset", "text/html")])
    func answerResetInOneSegmentKeepsItsType(engine: TestedEngine, row: (kind: String, type: String)) throws {
        let peer = try ScriptedPeer(rules: #"[{"action":"end","kind":"\#(row.kind)","gather":2,"times":2}]"#)
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        let outcomes = harness.run(2, url: peer.url)
        #expect(outcomes.count == 2)
        for outcome in outcomes {
            guard case .answered(let answer) = outcome else {
                Issue.record("\(outcome)")
                continue
            }
            #expect(answer.status == 200 && !answer.isComplete && answer.contentType == row.type, "\(answer)")
        }
    }

    /// A handle that was refused once is used again; what was said of the first stream is not taken for the second.
    @Test(arguments: TestedEngine.tested) func refusalIsClearedBeforeTheNextRequest(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        harness.run(1, url: peer.url)
        for kind in ["refused", "long_frame", "goaway_none", "fin"] {
            peer.command(#"{"do":"forget"}"#)
            peer.script(#"[{"action":"end","kind":"\#(kind)","times":1}]"#)
            let isRefused = kind == "refused" || kind == "goaway_none"
            #expect(harness.run(1, url: peer.url).kinds == [isRefused ? "200" : "ambiguous": 1], "\(kind)")
            #expect(try peer.ledger().processed.values.allSatisfy { $0 == 1 })
        }
    }

    /// The observation that all of this rests on: it ends where libcurl no longer calls nghttp2 as a library of its
    /// own.
    @Test func observerIsAttachedToLibcurl() throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness()
        harness.run(1, url: peer.url)
        #expect(CurlEnvironment.seesRefusedStreams, "no stream is ever seen refused: all count as possibly processed")
    }
}
