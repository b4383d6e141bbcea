import FanfareModel
import Testing

@testable import FCMWire

/// Seeded stories in which anything may happen at any time.
@Suite struct XMPPSessionFuzzTests {
    @Test(arguments: UInt64(1)...20)
    func everyMessageHasOneOutcomeWhateverHappens(seed: UInt64) {
        var random = Generator(state: seed)
        for _ in 0..<50 {
            var story = XMPPStory()
            story.negotiate(until: [.ready, .ready, .ready, .draining, .binding][random.below(5)])
            var sent: [UInt64: UInt64] = [:]
            var outcomes: [UInt64: [RequestOutcome]] = [:]
            var hasClosed = false
            for tag: UInt64 in 1...UInt64(random.below(60) + 1) {
                let event = random.event(tag)
                let start = story.session.written
                if case .send = event { sent[tag] = start }
                story.nowMs += Int64(random.below(5_000))
                for action in story.handle(event) {
                    switch action {
                    case .complete(let tag, let outcome): outcomes[tag, default: []].append(outcome)
                    case .write: #expect(!hasClosed, "seed \(seed)")
                    case .close: hasClosed = true
                    default: break
                    }
                }
                #expect(story.session.window.count <= 3)
                #expect(story.session.room == 0 || story.phase == .ready)
            }
            let handedOver = UInt64(random.below(Int(story.session.written) + 1))
            let waiting = Set(sent.keys).subtracting(outcomes.keys)
            for case .complete(let tag, let outcome) in story.handle(.lost(reason: "end", handedOver: handedOver)) {
                outcomes[tag, default: []].append(outcome)
                guard let start = sent[tag], waiting.contains(tag) else {
                    Issue.record("seed \(seed): an outcome for a message that waits for none")
                    continue
                }
                if case .unsent = outcome { #expect(start >= handedOver) } else { #expect(start < handedOver) }
            }
            #expect(outcomes.keys.sorted() == sent.keys.sorted(), "seed \(seed)")
            #expect(outcomes.values.allSatisfy { $0.count == 1 }, "seed \(seed)")
        }
    }

    @Test func whateverTheJSONSaysThereIsAnAnswer() {
        var random = Generator(state: 9)
        let parts = [
            "{", "}", "[", "]", ":", ",", "\"message_type\"", "\"ack\"", "\"nack\"", "\"receipt\"", "\"control\"",
            "\"from\"", "\"message_id\"", "\"data\"", "\"error\"", "null", "1e999", "\"\\ud800\"", "\"m1\"", "{}",
        ]
        for _ in 0..<5_000 {
            var story = XMPPStory()
            story.negotiate(until: .ready)
            _ = story.send(1)
            let json: String
            if random.below(2) == 0 {
                json = (0..<random.below(12)).map { _ in parts[random.below(parts.count)] }.joined()
            } else {
                let members = (0..<random.below(5)).map { _ in
                    "\(parts[6 + random.below(9)]):\(parts[[7, 8, 9, 10, 15, 16, 18, 19][random.below(8)]])"
                }
                json = "{\(members.joined(separator: ","))}"
            }
            _ = story.handle(XMPPStory.gcm(json))
            let completed = story.handle(.lost(reason: "end", handedOver: .max)).count
            #expect(completed <= 1)
        }
    }
}

/// A small linear generator: the same cases in every run.
private struct Generator {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(max(1, bound)))
    }

    mutating func event(_ tag: UInt64) -> XMPPSession.Event {
        let recent = max(1, tag - min(tag - 1, UInt64(below(5))))
        switch below(24) {
        case 0...8: return .send(tag: tag, messageID: "m\(tag)", json: Array("{}".utf8))
        case 9...12: return XMPPStory.ack(recent)
        case 13: return XMPPStory.nack(recent, ["BAD_REGISTRATION", "CONNECTION_DRAINING", "BAD_ACK"][below(3)])
        case 14: return XMPPStory.error(id: ["", "m\(recent)", "+m\(recent)"][below(3)])
        case 15, 16: return XMPPStory.gcm(#"{"from":"t","message_id":"m\#(recent)"}"#)
        case 17, 18: return .acknowledge(UInt64(below(4)))
        case 19, 20: return .tick
        case 21: return below(4) == 0 ? .stop(reason: "stop") : .receivedBytes
        case 22: return below(6) == 0 ? .unreadable(reason: "garbage") : .receivedBytes
        default: return .connected
        }
    }
}
