import FanfareModel
import Testing

@testable import EventLoop
@testable import HTTPLanes

@Suite struct OriginPoolsTests {
    private let loop: EventLoop
    private let engines = Engines()
    private let pools: OriginPools
    private let outcomes = Outcomes()

    private final class Outcomes { var all: [UInt64: RequestOutcome] = [:] }

    init() throws {
        let loop = try EventLoop()
        let (engines, outcomes) = (engines, outcomes)
        let group = PoolGroup(maximumAnswerBytes: 1 << 20)
        pools = OriginPools(loop: loop, maximum: 2) { configuration in
            LanePool(loop: loop, configuration: configuration, engine: engines.make(), group: group)
        }
        pools.onCompletion = { outcomes.all[$0] = $1 }
        self.loop = loop
    }

    private func send(_ tag: UInt64, to url: String, over configuration: OriginConfiguration = OriginConfiguration()) {
        pools.send(HTTPRequest(tag: tag, url: url, body: [1]), over: configuration)
        loop.advance()
    }

    /// Answers all requests of an origin.
    private func answer(_ origin: String) {
        engines.all.first { $0.origin == origin && !$0.isClosed }?.answer()
        loop.advance()
    }

    private var open: [String?] { engines.all.filter { !$0.isClosed }.map(\.origin) }

    @Test func requestsToOneOriginShareItsPool() {
        for (tag, path) in ["/a", "/b?c", ""].enumerated() { send(UInt64(tag), to: "https://One" + path) }
        #expect(open == ["https://one"])
        answer("https://one")
        #expect(outcomes.all.values.allSatisfy(\.isAnswer) && outcomes.all.count == 3)
        var other = OriginConfiguration()
        other.maximumLanes = 1
        send(4, to: "https://one/", over: other)
        #expect(open == ["https://one", "https://one"], "with another configuration")
        pools.close()
    }

    @Test func theLongestIdlePoolIsClosedForAnother() {
        send(1, to: "https://one/")
        send(2, to: "https://two/")
        answer("https://two")
        answer("https://one")
        send(3, to: "https://three/")
        #expect(open == ["https://one", "https://three"])
        answer("https://three")
        send(4, to: "https://one/")
        send(5, to: "https://four/")
        #expect(open == ["https://one", "https://four"], "a busy pool stays")
        pools.close()
        #expect(outcomes.all[4]?.isAnswer == false && outcomes.all[5]?.isAnswer == false && open.isEmpty)
    }

    @Test func idleConnectionsAreClosedAndOpenedAgain() {
        send(1, to: "https://one/")
        send(2, to: "https://two/")
        answer("https://two")
        pools.closeIdle()
        #expect(open == ["https://one"])
        send(3, to: "https://two/")
        #expect(open == ["https://one", "https://two"])
        answer("https://two")
        #expect(outcomes.all[3]?.isAnswer == true)
        pools.close()
    }

    @Test func aRequestIsUnsentWhileAllOriginsAreBusy() {
        send(1, to: "https://one/")
        send(2, to: "https://two/")
        pools.send(HTTPRequest(tag: 3, url: "https://three/"), over: OriginConfiguration())
        #expect(outcomes.all.isEmpty, "not from within the call")
        loop.advance()
        #expect(outcomes.all == [3: .unsent(reason: "2 origins have requests in flight")])
        answer("https://one")
        send(4, to: "https://three/")
        #expect(open == ["https://two", "https://three"])
        pools.close()
    }

    @Test func aRequestWithoutAnOriginIsRefusedWithTheReason() {
        send(1, to: "one")
        #expect(outcomes.all == [1: .unsent(reason: "url: not an https URL of allowed characters")])
        pools.close()
        send(2, to: "https://two/")
        #expect(outcomes.all.count == 1 && open.isEmpty)
    }
}

private final class Engines {
    private(set) var all: [HeldEngine] = []

    func make() -> HeldEngine {
        let engine = HeldEngine()
        all.append(engine)
        return engine
    }
}

/// Answers when it is told to.
private final class HeldEngine: LaneEngine, LaneConnection {
    private(set) var origin: String?
    private(set) var isClosed = false
    private var lane: Lane?
    private var open: [Int] = []
    private var ended: [Int] = []
    let connectsForRequest = false
    let heldBytes = 0
    let largestAnswer: (number: Int, bytes: Int)? = nil
    var running: Int { open.count }

    func connect(_ lane: Lane, to origin: String) -> (any LaneConnection)? {
        (self.lane, self.origin) = (lane, origin)
        lane.state.opened(streams: 100)
        return self
    }

    func answer() {
        ended += open
        open = []
        lane?.enlist()
    }

    func submit(_ request: HTTPRequest, number: Int) -> Bool {
        open.append(number)
        return true
    }

    func nextEnd() -> (number: Int, end: RequestEnd)? {
        let answer = RequestEnd(proof: .answered(HTTPAnswer(status: 200)), ending: .answered(isMultiplexed: true))
        return ended.popLast().map { ($0, answer) }
    }

    func cancel(_ number: Int, reason: Reason, as ending: LaneState.Ending) -> RequestEnd {
        RequestEnd(proof: .unsent, reason: reason, ending: ending)
    }

    func pump() {}
    func flush() {}
    func isHeldBack(_ number: Int) -> Bool { false }
    func tick(nowMs: Int64) {}
    func close() { isClosed = true }
}
