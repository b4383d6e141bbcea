import Testing

@testable import fanfare

/// (state, event) → actions of the parts that `fanfare up` runs.
@Suite struct SupervisorTests {
    private static let all = Supervisor.Part.allCases

    private static func running(_ parts: [Supervisor.Part] = all) -> Supervisor {
        var supervisor = Supervisor(parts, drainMs: 25_000)
        var actions = supervisor.handle(.tick, nowMs: 0)
        for part in parts {
            #expect(actions == [.start(part)])
            #expect(supervisor.handle(.tick, nowMs: 0) == [], "the next one waits for it")
            actions = supervisor.handle(.ready(part), nowMs: 0)
        }
        #expect(actions == [.announce])
        return supervisor
    }

    @Test(arguments: [all, [.redis, .worker, .dashboard]]) func partsStartOneAfterTheOther(parts: [Supervisor.Part]) {
        var supervisor = Self.running(parts)
        #expect(supervisor.handle(.tick, nowMs: 1_000_000) == [])
    }

    @Test func whatDiesStartsAgainAfterAWaitThatGrows() {
        var supervisor = Self.running()
        var now: Int64 = 0
        for pause in [1, 2, 4, 8, 16, 30, 30] as [Int64] {
            let died = supervisor.handle(.ended(.worker, code: 137), nowMs: now)
            #expect(died == [.note(.worker, "was killed by signal 9: it starts again in \(pause) s")])
            #expect(supervisor.handle(.tick, nowMs: now + pause * 1_000 - 1) == [])
            now += pause * 1_000
            #expect(supervisor.handle(.tick, nowMs: now) == [.start(.worker)])
            #expect(supervisor.handle(.ready(.worker), nowMs: now) == [], "it is announced once")
        }
        now += 60_000
        let died = supervisor.handle(.ended(.worker, code: 0), nowMs: now)
        #expect(died == [.note(.worker, "ended with exit code 0: it starts again in 1 s")], "after a steady minute")
    }

    @Test(arguments: [(Supervisor.Part.redis, Int32(1), Int32(69)), (.sandbox, 69, 69), (.sandbox, 78, 78)])
    func partThatRefusesItsFirstStartEndsEverything(part: Supervisor.Part, code: Int32, exit: Int32) {
        var supervisor = Supervisor(Self.all, drainMs: 1_000)
        _ = supervisor.handle(.tick, nowMs: 0)
        if part == .sandbox { _ = supervisor.handle(.ready(.redis), nowMs: 0) }
        let actions = supervisor.handle(.ended(part, code: code), nowMs: 1)
        #expect(actions.first == .note(part, "ended with exit code \(code), so everything ends"))
        guard part == .sandbox else { return #expect(actions.last == .finish(code: exit)) }
        #expect(actions.last == .terminate(.redis))
        #expect(supervisor.handle(.ended(.redis, code: 0), nowMs: 2) == [.finish(code: exit)])
    }

    @Test func partThatIsKilledDuringTheFirstStartStartsAgain() {
        var supervisor = Supervisor(Self.all, drainMs: 1_000)
        _ = supervisor.handle(.tick, nowMs: 0)
        _ = supervisor.handle(.ended(.redis, code: 137), nowMs: 0)
        #expect(supervisor.handle(.tick, nowMs: 1_000) == [.start(.redis)])
    }

    @Test func slowStartIsNotedOnce() {
        var supervisor = Supervisor(Self.all, drainMs: 1_000)
        _ = supervisor.handle(.tick, nowMs: 0)
        #expect(supervisor.handle(.tick, nowMs: 19_999) == [])
        #expect(supervisor.handle(.tick, nowMs: 20_000) == [.note(.redis, "is not ready after 20 s")])
        #expect(supervisor.handle(.tick, nowMs: 40_000) == [])
    }

    /// The worker drains while Redis and FCM are there.
    @Test func partsEndInTheOppositeOrder() {
        var supervisor = Self.running()
        #expect(supervisor.handle(.stop, nowMs: 0) == [.terminate(.gateway)])
        let next = supervisor.handle(.ended(.gateway, code: 0), nowMs: 5)
        #expect(next == [.terminate(.worker), .terminate(.dashboard)])
        #expect(supervisor.handle(.ended(.dashboard, code: 0), nowMs: 10) == [])
        #expect(supervisor.handle(.ended(.worker, code: 0), nowMs: 20_000) == [.terminate(.sandbox)])
        #expect(supervisor.handle(.ended(.sandbox, code: 0), nowMs: 20_001) == [.terminate(.redis)])
        #expect(supervisor.handle(.ended(.redis, code: 0), nowMs: 20_002) == [.finish(code: 0)])
    }

    @Test func whatDoesNotEndIsKilled() {
        var supervisor = Self.running()
        _ = supervisor.handle(.stop, nowMs: 0)
        #expect(supervisor.handle(.tick, nowMs: 8_999) == [])
        #expect(supervisor.handle(.tick, nowMs: 9_000) == [.kill(.gateway)])
        _ = supervisor.handle(.ended(.gateway, code: 137), nowMs: 10_000)
        #expect(supervisor.handle(.tick, nowMs: 39_999) == [])
        #expect(supervisor.handle(.tick, nowMs: 40_000) == [.kill(.worker), .kill(.dashboard)])
        _ = supervisor.handle(.ended(.worker, code: 137), nowMs: 40_001)
        #expect(supervisor.handle(.ended(.dashboard, code: 137), nowMs: 40_001) == [.terminate(.sandbox)])
        #expect(supervisor.handle(.tick, nowMs: 45_001) == [.kill(.sandbox)])
    }

    @Test func partThatWaitsForItsNextStartDoesNotStartDuringAStop() {
        var supervisor = Self.running([.redis, .worker])
        _ = supervisor.handle(.ended(.worker, code: 137), nowMs: 0)
        #expect(supervisor.handle(.stop, nowMs: 1) == [.terminate(.redis)])
        #expect(supervisor.handle(.tick, nowMs: 1_001) == [])
        #expect(supervisor.handle(.ended(.redis, code: 0), nowMs: 1_002) == [.finish(code: 0)])
    }
}
