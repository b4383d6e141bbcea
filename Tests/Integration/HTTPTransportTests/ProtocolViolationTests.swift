import EventLoop
import FanfareModel
import Foundation
import Testing

@testable import HTTPLanes

/// Rare and invalid frames around the answers of a peer that has received the requests. Each body arrives once. The
/// lane continues, on one more connection at most.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ProtocolViolationTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let kind: String
        /// The outcome of each request.
        let outcome: String

        var testDescription: String { kind }
    }

    static let rows = [
        Row(kind: "early_hints", outcome: "200"),
        Row(kind: "trailers", outcome: "200"),
        Row(kind: "reset_no_error_after", outcome: "200"),
        Row(kind: "reset_cancel_after", outcome: "200"),
        Row(kind: "data_after_end", outcome: "200"),
        Row(kind: "empty_data", outcome: "200"),
        Row(kind: "content_length_above", outcome: "200 cut"),
        Row(kind: "content_length_below", outcome: "200 cut"),
        Row(kind: "window_0_on_stream", outcome: "ambiguous"),
        Row(kind: "half_body_reset", outcome: "200 cut"),
        Row(kind: "half_body_goaway", outcome: "200 cut"),
        Row(kind: "half_body_fin", outcome: "200 cut"),
    ]

    @Test(arguments: TestedEngine.tested, rows)
    func answerHasOneOutcomeAndTheLaneGoesOn(engine: TestedEngine, row: Row) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        let outcomes = try Self.run(8, kind: row.kind, on: peer, harness)
        #expect(outcomes.kinds == [row.outcome: 8], "\(outcomes.summary)")
        try Self.checkOnce(8, peer, harness)
    }

    /// The connection may end or continue; the loop keeps turning and memory stays bounded.
    @Test(arguments: TestedEngine.tested, ["empty_data_flood", "header_flood", "ping_flood"])
    func floodHoldsUpNothingAndIsNotStored(engine: TestedEngine, kind: String) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        let before = try PeakMemory.restart()
        var outcomes: [RequestOutcome] = []
        var failure: (any Error)?
        let longest = harness.longestTurn { harness in
            do { outcomes = try Self.run(8, kind: kind, on: peer, harness) } catch { failure = error }
        }
        if let failure { throw failure }
        let allowed: Set = kind == "header_flood" ? ["ambiguous", "200 cut"] : ["200", "200 cut", "ambiguous"]
        #expect(allowed.isSuperset(of: outcomes.kinds.keys), "\(outcomes.summary)")
        if kind == "header_flood" { #expect(outcomes.kinds["200 cut", default: 0] <= 1) }
        #expect(longest < 1_000)
        #expect(try PeakMemory.read() - before < 8_000, "KiB")
        try Self.checkOnce(8, peer, harness)
    }

    @Test(arguments: TestedEngine.tested) func streamsResetAfterTheirHeadersAreAmbiguous(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        harness.run(1, url: peer.url)
        peer.command(#"{"do":"forget"}"#)
        peer.script(#"[{"action":"rst","code":8,"at":"headers","times":500}]"#)
        let outcomes = harness.run(500, url: peer.url)
        #expect(outcomes.kinds == ["ambiguous": 500], "\(outcomes.summary)")
        #expect(harness.surplus == 0)
        #expect(try peer.ledger().requests.count == 500)
        #expect(harness.run(1, url: peer.url).kinds == ["200": 1])
        #expect(try peer.ledger().connections <= 2)
    }

    struct EarlyRow: Sendable {
        let status: Int
        let isReset: Bool
        /// The outcome that libcurl gives where it differs. It still waits for room for the body until the deadline,
        /// and it discards headers that it reads together with a reset.
        var overCurl: String?
    }

    /// The peer's window holds the body back, and the answer comes first.
    @Test(
        arguments: TestedEngine.tested,
        [
            EarlyRow(status: 200, isReset: false, overCurl: "200 cut"),
            EarlyRow(status: 413, isReset: false, overCurl: "413 cut"),
            EarlyRow(status: 200, isReset: true, overCurl: "200 cut"),
            EarlyRow(status: 413, isReset: true, overCurl: "ambiguous"),
        ]
    )
    func answerBeforeTheBodyCounts(engine: TestedEngine, row: EarlyRow) throws {
        let peer = try ScriptedPeer(window: 7)
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        harness.run(1, url: peer.url)
        let options = #""status":\#(row.status),"reset":\#(row.isReset),"at":"headers","times":8"#
        peer.script(#"[{"action":"answer",\#(options)}]"#)
        let outcomes = harness.run(8, url: peer.url, padding: 100, timeoutMs: 500)
        let expected = (engine == .curl ? row.overCurl : nil) ?? "\(row.status)"
        #expect(outcomes.kinds == [expected: 8], "\(outcomes.summary)")
        #expect(try peer.ledger().requests.count == 9)
        #expect(harness.run(1, url: peer.url).kinds == ["200": 1])
        #expect(try peer.ledger().connections <= 2)
    }

    // MARK: Settings that change

    /// Setting 4 is INITIAL_WINDOW_SIZE, 5 MAX_FRAME_SIZE, 1 HEADER_TABLE_SIZE. The bodies do not fit the first window, and
    /// the lower ones make the streams' windows negative.
    @Test(arguments: TestedEngine.tested) func settingsMayChangeUnderRequests(engine: TestedEngine) throws {
        let peer = try ScriptedPeer(window: 1_000)
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        #expect(harness.run(3, url: peer.url).kinds == ["200": 3])
        let changes = [#"{"4":100}"#, #"{"4":0}"#, #"{"1":0,"5":32768}"#, #"{"4":20000}"#, #"{"1":4096}"#]
        let outcomes = harness.run(8, url: peer.url, padding: 3_000) { harness in
            for (index, change) in changes.enumerated() {
                harness.loop.schedule(afterMilliseconds: Int64(50 + index * 30)) {
                    peer.command(#"{"do":"settings","values":\#(change)}"#)
                }
            }
        }
        #expect(outcomes.kinds == ["200": 8], "\(outcomes.summary)")
        #expect(harness.run(20, url: peer.url).kinds == ["200": 20])
        let ledger = try peer.ledger()
        #expect(ledger.received.count == 31)
        #expect(ledger.received.values.allSatisfy { $0 == 1 })
        #expect(ledger.connections == 1)
    }

    @Test(arguments: TestedEngine.tested) func streamLimitMayFallToZeroAndRise(engine: TestedEngine) throws {
        let peer = try ScriptedPeer(rules: #"[{"action":"answer","status":200,"body":"{}","delay_ms":30}]"#)
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        harness.run(20, url: peer.url)
        let outcomes = harness.run(500, url: peer.url, timeoutMs: 15_000) { harness in
            for (at, streams) in [(40, 1), (150, 0), (400, 100)] {
                harness.loop.schedule(afterMilliseconds: Int64(at)) {
                    peer.command(#"{"do":"streams","count":\#(streams)}"#)
                }
            }
        }
        #expect(outcomes.kinds == ["200": 500], "\(outcomes.summary)")
        let ledger = try peer.ledger()
        #expect(ledger.processed.count == 520)
        #expect(ledger.processed.values.allSatisfy { $0 == 1 })
    }

    // MARK: GOAWAY

    @Test(arguments: TestedEngine.tested) func goawayThatAsksForLessMovesWhatItDisowns(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        let outcomes = try Self.run(8, kind: "goaway_calm", on: peer, harness)
        #expect(outcomes.kinds == ["200": 8], "\(outcomes.summary)")
        // libcurl does not report the code; there the refusals may halve the limit.
        #expect([50, engine == .nghttp2 ? 50 : 100].contains(harness.pool.planner.learned))
        let ledger = try peer.ledger()
        #expect(ledger.received.values.sorted() == [1, 1, 1, 1, 2, 2, 2, 2])
        #expect(ledger.processed.count == 8)
        #expect(ledger.processed.values.allSatisfy { $0 == 1 })
        #expect(ledger.connections == 2)
    }

    @Test(arguments: TestedEngine.tested) func twoGoawaysLoseAndRepeatNothing(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 2 }
        harness.run(3, url: peer.url)
        peer.command(#"{"do":"forget"}"#)
        peer.script(#"[{"action":"raw","kind":"goaway_twice","gather":8,"times":8}]"#)
        let outcomes = harness.run(400, url: peer.url)
        #expect(outcomes.kinds == ["200": 400], "\(outcomes.summary)")
        let ledger = try peer.ledger()
        #expect(ledger.processed.count == 400)
        #expect(ledger.processed.values.allSatisfy { $0 == 1 })
        #expect(ledger.connections <= 3)
    }

    // MARK: Peers that say nothing

    @Test(arguments: TestedEngine.tested, ["tcp", "tls"])
    func connectionToAMutePeerEndsInTime(engine: TestedEngine, mute: String) throws {
        let peer = try ScriptedPeer(arguments: ["--mute", mute])
        let harness = try PoolHarness(engine: engine) { $0.connectTimeoutMs = 400 }
        let started = SystemClock.bootNs
        let outcomes = harness.run(2, url: peer.url, timeoutMs: 1_500)
        // libcurl sends the request before it has the server's settings.
        let left = engine == .curl && mute == "tls"
        #expect(outcomes.kinds == [left ? "ambiguous" : "unsent": 2], "\(outcomes.summary)")
        if !left { #expect(outcomes.first?.reason.contains("no free stream") == false, "the cause is named") }
        #expect(SystemClock.bootNs - started < (left ? 2_500_000_000 : 1_200_000_000))
    }

    /// The kernel of such a peer still acknowledges, so only a PING finds it.
    @Test(.enabled(if: TestedEngine.tested.contains(.nghttp2)))
    func connectionToAPeerThatStopsReadingEnds() throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: .nghttp2) {
            $0.maximumLanes = 1
            $0.userTimeoutMs = 1_500
        }
        harness.run(3, url: peer.url)
        peer.script(#"[{"action":"deaf","times":1}]"#)
        let started = SystemClock.bootNs
        let outcomes = harness.run(1, url: peer.url, timeoutMs: 15_000)
        #expect(outcomes.kinds == ["ambiguous": 1], "\(outcomes.summary)")
        #expect(SystemClock.bootNs - started < 5_000_000_000)
        #expect(harness.run(5, url: peer.url).kinds == ["200": 5])
        #expect(try peer.ledger().received.values.allSatisfy { $0 == 1 })
    }

    // MARK: -

    /// Warms the lane, then sends `count` requests that the peer answers together.
    private static func run(_ count: Int, kind: String, on peer: ScriptedPeer, _ harness: PoolHarness) throws
        -> [RequestOutcome]
    {
        #expect(harness.run(3, url: peer.url).kinds == ["200": 3])
        peer.command(#"{"do":"forget"}"#)
        peer.script(#"[{"action":"raw","kind":"\#(kind)","gather":\#(count),"times":\#(count)}]"#)
        return harness.run(count, url: peer.url, timeoutMs: 1_000)
    }

    private static func checkOnce(_ count: Int, _ peer: ScriptedPeer, _ harness: PoolHarness) throws {
        #expect(harness.surplus == 0)
        let received = try peer.ledger().received
        #expect(received.count == count)
        #expect(received.values.allSatisfy { $0 == 1 }, "\(received)")
        #expect(harness.run(1, url: peer.url).kinds == ["200": 1])
        #expect(try peer.ledger().connections <= 2)
    }
}

/// The highest resident memory of this process, in KiB.
private enum PeakMemory {
    /// Counts from the present value on, which it returns.
    static func restart() throws -> Int {
        try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
        return try read()
    }

    static func read() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(
            line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }
        )
    }
}
