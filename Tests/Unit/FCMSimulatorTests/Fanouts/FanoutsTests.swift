import Testing

@testable import FCMSimulator

/// The fan-outs alone, of several projects.
@Suite struct FanoutsTests {
    private static func fanout(_ project: String, _ target: String, _ recipients: Int, atMs: Int64 = 0) -> Fanout {
        Fanout(
            project: project,
            kind: .topic,
            target: target,
            messageID: "m",
            recipients: recipients,
            acceptedMs: atMs
        )
    }

    @Test func `fan-outs of one project share its rate, those of another have their own`() {
        var fanouts = Fanouts(rate: 1_000, defers: false)
        for (project, target) in [("a", "1"), ("a", "2"), ("b", "3")] {
            #expect(fanouts.start(Self.fanout(project, target, 1_000)) == true)
        }
        #expect(fanouts.maximumActive == 2)
        #expect(fanouts.advance(to: 999).count == 0)
        #expect(fanouts.advance(to: 1_000).map(\.target) == ["3"])
        let ended = fanouts.advance(to: 9_000)
        #expect(ended.map(\.target) == ["1", "2"])
        #expect(ended.map(\.finishedMs) == [2_000, 2_000])
    }

    @Test func `ends of all projects come in the order of time`() {
        var fanouts = Fanouts(rate: 1_000, defers: false)
        for (index, project) in ["c", "a", "b"].enumerated() {
            #expect(fanouts.start(Self.fanout(project, project, 100 * (index + 1))) == true)
        }
        #expect(fanouts.advance(to: 1_000).map(\.target) == ["c", "a", "b"])
    }

    @Test(arguments: [false, true]) func `beyond a thousand a fan-out is refused or waits`(defers: Bool) {
        var fanouts = Fanouts(rate: 1_000, defers: defers)
        for _ in 0..<FanoutMeter.maximumActive { #expect(fanouts.start(Self.fanout("a", "x", 1)) == true) }
        #expect(fanouts.start(Self.fanout("a", "last", 1)) == defers)
        #expect(fanouts.start(Self.fanout("b", "other", 1)) == true)
        #expect(fanouts.maximumActive == FanoutMeter.maximumActive)
        let waiting = fanouts.list(project: "a").filter { $0.startedMs == nil }
        #expect(waiting.map(\.target) == (defers ? ["last"] : []))
        _ = fanouts.advance(to: 10_000)
        #expect(fanouts.list(project: "a").allSatisfy { $0.finishedMs != nil })
    }

    @Test func `an ended fan-out returns the message of its start`() throws {
        var fanouts = Fanouts(rate: 1_000, defers: false)
        let send = Send(project: Trial.project, traits: MessageTraits(), source: .legacy([1]))
        let message = FanoutMessage(audience: .topic("news"), send: send)
        var fanout = Self.fanout("a", "news", 0)
        fanout.message = message
        #expect(fanouts.start(fanout) == true)
        let ended = try #require(fanouts.advance(to: 0).first)
        #expect(ended.message == message)
        #expect(ended.finishedMs == 0)
        #expect(fanouts.list(project: nil).count == 1)
        #expect(fanouts.list(project: "b").isEmpty)
    }
}
