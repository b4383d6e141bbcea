import EventLoop
import FanfareModel
import Foundation
import Testing

@testable import HTTPLanes

/// What answers may cost memory: each for itself, and all of a process together.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct AnswerLimitTests {
    private func stall(_ bytes: Int, match: String = "", times: Int = 1_000) -> String {
        #"{"action":"huge","bytes":\#(bytes),"stall":true,"match":"\#(match)","times":\#(times)}"#
    }

    @Test(arguments: TestedEngine.tested) func answerIsCutAtTheLimitOfItsRequest(engine: TestedEngine) throws {
        let peer = try ScriptedPeer(rules: #"[{"action":"huge","bytes":100000000}]"#)
        let harness = try PoolHarness(engine: engine) { $0.maximumBodyBytes = 50_000 }
        harness.prepare = { $0.maximumBodyBytes = 1_000 }
        harness.run(2, url: peer.url)
        harness.prepare = { _ in }
        let outcomes = harness.run(2, url: peer.url)
        #expect(outcomes.kinds == ["200 cut": 2])
        let sizes = harness.order.sorted().compactMap { tag -> Int? in
            guard case .answered(let answer) = harness.outcomes[tag] else { return nil }
            return answer.body.count
        }
        #expect(sizes == [1_000, 1_000, 50_000, 50_000])
    }

    /// The other answers continue until their own end.
    @Test(arguments: TestedEngine.tested) func largestAnswerIsCutBeyondTheBudget(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let group = PoolGroup(maximumAnswerBytes: 50_000)
        let harness = try PoolHarness(engine: engine, group: group)
        harness.run(3, url: peer.url)
        peer.script("[\(stall(30_000, match: "body-8")),\(stall(4_000))]")
        var highest = 0
        harness.loop.onTurnEnd { highest = max(highest, group.answerBytes) }
        let outcomes = harness.run(12, url: peer.url, timeoutMs: 1_500)
        #expect(outcomes.kinds == ["200 cut": 12])
        #expect(harness.order.dropFirst(3).first == 8)
        #expect(highest > 0 && highest <= 50_000)
        #expect(group.answerBytes == 0)
    }

    /// The budget is that of the process: a pool cuts the answers of another one.
    @Test(arguments: TestedEngine.tested) func budgetIsSharedByThePoolsOfAGroup(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let group = PoolGroup(maximumAnswerBytes: 50_000)
        let hostile = try PoolHarness(engine: engine, group: group)
        let other = try PoolHarness(engine: engine, loop: hostile.loop, group: group)
        // A lane of libcurl takes many requests only after an answer.
        for harness in [hostile, other] { harness.run(3, url: peer.url) }
        peer.script("[\(stall(45_000, match: "large", times: 1)),\(stall(2_000))]")
        hostile.makeBody = { _ in "large" }
        hostile.run(1, url: peer.url, timeoutMs: 10_000) { _ in
            other.enqueue(6, url: peer.url, timeoutMs: 10_000)
        }
        #expect(hostile.outcomes.count == 4 && hostile.outcomes[4]?.kind == "200 cut")
        #expect(other.outcomes.count == 3, "the answers of the other pool were not cut before")
        other.pool.close()
        #expect(other.outcomes.count == 9)
        #expect(group.answerBytes == 0)
    }

    @Test(arguments: TestedEngine.tested) func closedPoolHoldsNothing(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let group = PoolGroup(maximumAnswerBytes: 50_000)
        let harness = try PoolHarness(engine: engine, group: group)
        harness.run(3, url: peer.url)
        peer.script("[\(stall(4_000))]")
        harness.loop.onTurnEnd {
            guard group.answerBytes >= 12_000 else { return }
            harness.pool.close()
            // A closed pool causes no other turn.
            harness.loop.stop()
        }
        #expect(harness.run(3, url: peer.url).kinds == ["200 cut": 3])
        #expect(group.answerBytes == 0)
    }

    /// An answer that was too long does not make the lane carry more.
    @Test func cutAnswerDoesNotWidenTheWindow() {
        let window = StreamWindow(maximum: 100, limit: 2)
        let lanes = [LaneState.Ending.answered(isMultiplexed: true), .cut(isMultiplexed: true)].map { ending in
            var lane = LaneState(window: window, timeoutsToRetire: 3, probes: 0, nowMs: 0)
            lane.opened(streams: 100)
            for _ in 0..<2 { lane.recordAdded() }
            lane.ended(ending, nowMs: 1)
            return lane
        }
        #expect(lanes.map(\.limit) == [3, 2])
        #expect(lanes.map(\.answered) == [1, 1])
    }

    /// Whole results at the front of a multicast's answer count, so what arrived before the reset is handed over.
    @Test(arguments: TestedEngine.tested, ["half_body_reset", "half_body_fin", "half_body_goaway"])
    func frontOfACutAnswerIsHandedOver(engine: TestedEngine, kind: String) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        harness.prepare = { $0.usesCutBody = true }
        let whole = harness.run(4, url: peer.url)
        peer.script(#"[{"action":"raw","kind":"\#(kind)","gather":8,"times":8}]"#)
        let outcomes = harness.run(8, url: peer.url)
        #expect(whole.kinds == ["200": 4])
        #expect(outcomes.kinds == ["200 cut": 8], "\(outcomes.summary)")
        for case .answered(let answer) in whole { #expect(answer.body == Array(#"{"name":"n"}"#.utf8)) }
        for case .answered(let answer) in outcomes {
            #expect(answer.body == Array(#"{"na"#.utf8))
            #expect(answer.contentType == "application/json")
        }
    }

    /// libcurl drops the headers of such an answer, and its engine keeps one short content type only.
    @Test(arguments: TestedEngine.tested, ["half_body_types", "half_body_long_type"])
    func contentTypeThatCannotBeReadIsNotAbsent(engine: TestedEngine, kind: String) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        harness.prepare = { $0.usesCutBody = true }
        harness.run(4, url: peer.url)
        peer.script(#"[{"action":"raw","kind":"\#(kind)","gather":8,"times":8}]"#)
        let outcomes = harness.run(8, url: peer.url)
        #expect(outcomes.kinds == ["200 cut": 8], "\(outcomes.summary)")
        for case .answered(let answer) in outcomes {
            #expect(answer.contentType != nil && answer.contentType != "application/json")
        }
    }

    /// A header block counts by its bytes, as a body does.
    @Test(arguments: TestedEngine.tested) func headersBeyondTheirLimitEndTheStream(engine: TestedEngine) throws {
        let peer = try ScriptedPeer()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 1 }
        let pad = String(repeating: "v", count: 900)
        func rule(_ count: Int) -> String {
            let headers = (0..<count).map { #""x-pad-\#($0)":"\#(pad)""# }.joined(separator: ",")
            return #"[{"action":"answer","status":200,"body":"{}","times":1,"headers":{\#(headers)}}]"#
        }
        peer.script(rule(12))
        #expect(harness.run(1, url: peer.url).kinds == ["200": 1])
        peer.script(rule(24))
        #expect(harness.run(1, url: peer.url).kinds == ["ambiguous": 1])
        #expect(harness.run(3, url: peer.url).kinds == ["200": 3])
    }
}
