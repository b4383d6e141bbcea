import EventLoop
import FanfareModel
import Testing

@testable import HTTPLanes

/// When a pool delivers long answers, with an engine that answers each request at once.
@Suite struct UndeliveredAnswerTests {
    private static let bodyBytes = AnswerBudget.maximumUndeliveredBytes

    /// Runs a request on each of four lanes of each pool, all read in one turn of the loop.
    ///
    /// - Returns: how many answers waited for their delivery at most.
    private func maximumUndelivered(pools count: Int, bodyBytes: Int) throws -> Int {
        let loop = try EventLoop()
        let group = PoolGroup(maximumAnswerBytes: 32 << 20)
        let engine = InstantEngine(requests: 4 * count, bodyBytes: bodyBytes)
        var configuration = OriginConfiguration()
        configuration.maximumStreamsPerLane = 1
        let pools = (0..<count).map { _ in
            LanePool(loop: loop, configuration: configuration, engine: engine, group: group)
        }
        var delivered = 0
        for pool in pools {
            pool.onCompletion = { _, outcome in
                #expect(outcome.bodyBytes == bodyBytes)
                delivered += 1
                engine.undelivered -= 1
                if delivered == 4 * count { loop.stop() }
            }
        }
        for pool in pools {
            for tag in 0..<4 { pool.send(HTTPRequest(tag: UInt64(tag), url: "https://localhost/", body: [1])) }
        }
        let limit = loop.schedule(afterMilliseconds: 20_000) { loop.stop() }
        loop.run()
        loop.cancel(limit)
        for pool in pools { pool.close() }
        #expect(delivered == 4 * count && group.answers.undeliveredBytes == 0)
        return engine.maximumUndelivered
    }

    @Test(arguments: [1, 3]) func longAnswerIsDeliveredBeforeAnotherIsRead(pools: Int) throws {
        #expect(try maximumUndelivered(pools: pools, bodyBytes: Self.bodyBytes) == 1)
    }

    @Test func shortAnswersAreDeliveredTogether() throws {
        #expect(try maximumUndelivered(pools: 1, bodyBytes: 100) == 4)
    }
}

/// Holds all requests until the last one was submitted; then each pump of a lane answers one.
private final class InstantEngine: LaneEngine {
    private let requests: Int
    fileprivate let bodyBytes: Int
    private var submitted = 0
    private var lanes: [Lane] = []
    private(set) var maximumUndelivered = 0
    var undelivered = 0 { didSet { maximumUndelivered = max(maximumUndelivered, undelivered) } }
    let connectsForRequest = false

    init(requests: Int, bodyBytes: Int) {
        self.requests = requests
        self.bodyBytes = bodyBytes
    }

    var mayAnswer: Bool { submitted == requests }

    func connect(_ lane: Lane, to origin: String) -> (any LaneConnection)? {
        lane.state.opened(streams: 1)
        lanes.append(lane)
        return InstantConnection(self)
    }

    func recordSubmitted() {
        submitted += 1
        if mayAnswer { for lane in lanes { lane.enlist() } }
    }

    func close() {}
}

private final class InstantConnection: LaneConnection {
    private let engine: InstantEngine
    private var open: [Int] = []
    private var ended: [Int] = []
    let heldBytes = 0
    let largestAnswer: (number: Int, bytes: Int)? = nil

    init(_ engine: InstantEngine) { self.engine = engine }

    var running: Int { open.count }

    func submit(_ request: HTTPRequest, number: Int) -> Bool {
        open.append(number)
        engine.recordSubmitted()
        return true
    }

    func pump() {
        guard engine.mayAnswer, let number = open.popLast() else { return }
        ended.append(number)
    }

    func nextEnd() -> (number: Int, end: RequestEnd)? {
        guard let number = ended.popLast() else { return nil }
        engine.undelivered += 1
        let answer = HTTPAnswer(status: 200, body: [UInt8](repeating: 0, count: engine.bodyBytes))
        return (number, RequestEnd(proof: .answered(answer), ending: .answered(isMultiplexed: true)))
    }

    func cancel(_ number: Int, reason: Reason, as ending: LaneState.Ending) -> RequestEnd {
        RequestEnd(proof: .unsent, reason: reason, ending: ending)
    }

    func flush() {}
    func isHeldBack(_ number: Int) -> Bool { false }
    func tick(nowMs: Int64) {}
    func close() {}
}
