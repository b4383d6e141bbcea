import EventLoop
import FanfareModel
import HTTPLanes
import Testing

/// A pool on a loop that runs on the test's own thread.
final class PoolHarness {
    let loop: EventLoop
    let pool: LanePool
    private(set) var outcomes: [UInt64: RequestOutcome] = [:]
    /// The tags, in the order of their outcomes.
    private(set) var order: [UInt64] = []
    /// Outcomes beyond the first of a request: always a fault.
    private(set) var surplus = 0
    private(set) var timedOut = false
    var headers = ["Content-Type: application/json", "Authorization: Bearer x"]
    /// The body of the request of a tag.
    var makeBody: (UInt64) -> String = { "body-\($0)" }
    private var waiting: [HTTPRequest] = []
    private var nextTag: UInt64 = 1
    private var expected = 0
    private var isRunning = false
    /// Changes each request before it is sent.
    var prepare: (inout HTTPRequest) -> Void = { _ in }

    /// - Parameters:
    ///   - loop: nil for a loop of its own.
    ///   - group: what the pool shares with others.
    init(
        engine: TestedEngine = .curl,
        loop: EventLoop? = nil,
        group: PoolGroup = PoolGroup(),
        _ change: (inout OriginConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = OriginConfiguration(caFile: try Certificates.shared.get().authority)
        change(&configuration)
        let loop = try loop ?? EventLoop()
        self.loop = loop
        pool = engine.makePool(configuration, loop: loop, group: group)
        pool.onCompletion = { [unowned self] tag, outcome in
            order.append(tag)
            if outcomes.updateValue(outcome, forKey: tag) != nil { surplus += 1 }
        }
        loop.onTurnEnd { [weak self] in self?.turnEnded() }
    }

    deinit { pool.close() }

    private func turnEnded() {
        feed()
        if isRunning, outcomes.count >= expected, pool.isIdle { loop.stop() }
    }

    /// Sends `count` requests, never more than the pool has room for, and runs until each has its outcome.
    ///
    /// - Parameters:
    ///   - padding: number of spaces after each body.
    ///   - meanwhile: called in the first turn of the loop.
    @discardableResult
    func run(
        _ count: Int,
        url: String,
        padding: Int = 0,
        timeoutMs: Int64 = 5_000,
        limitMs: Int64 = 20_000,
        meanwhile: ((PoolHarness) -> Void)? = nil
    ) -> [RequestOutcome] {
        let first = nextTag
        enqueue(count, url: url, padding: padding, timeoutMs: timeoutMs)
        runLoop(limitMs, meanwhile)
        return (first..<nextTag).compactMap { outcomes[$0] }
    }

    /// Sends `count` requests with the loop's next turns, which another harness runs.
    func enqueue(_ count: Int, url: String, padding: Int = 0, timeoutMs: Int64 = 5_000) {
        for _ in 0..<count {
            var request = HTTPRequest(
                tag: nextTag,
                url: url,
                headers: headers,
                body: Array(makeBody(nextTag).utf8) + [UInt8](repeating: UInt8(ascii: " "), count: padding),
                timeoutMs: timeoutMs
            )
            prepare(&request)
            waiting.append(request)
            nextTag += 1
        }
        expected += count
    }

    /// Sends one request as it is.
    func run(_ request: HTTPRequest, limitMs: Int64 = 20_000) -> RequestOutcome? {
        waiting.append(request)
        expected += 1
        runLoop(limitMs, nil)
        return outcomes[request.tag]
    }

    private func runLoop(_ limitMs: Int64, _ meanwhile: ((PoolHarness) -> Void)?) {
        let limit = loop.schedule(afterMilliseconds: limitMs) { [unowned self] in
            timedOut = true
            loop.stop()
        }
        loop.schedule(afterMilliseconds: 0) { [unowned self] in meanwhile?(self) }
        isRunning = true
        loop.run()
        isRunning = false
        loop.cancel(limit)
    }

    /// Runs the loop and returns the longest time in which it had no turn, in milliseconds.
    func longestTurn(during work: (PoolHarness) -> Void) -> Int64 {
        var last = SystemClock.bootNs
        var longest: UInt64 = 0
        let timer = loop.every(milliseconds: 5) {
            let now = SystemClock.bootNs
            longest = max(longest, now - last)
            last = now
        }
        work(self)
        loop.cancel(timer)
        return Int64(longest / 1_000_000)
    }

    /// Sends what there is room for.
    func feed() {
        while !waiting.isEmpty, pool.freeSlots > 0 { pool.send(waiting.removeFirst()) }
    }
}

extension RequestOutcome {
    /// The class alone, for counting.
    var kind: String {
        switch self {
        case .unsent: "unsent"
        case .refused: "refused"
        case .ambiguous: "ambiguous"
        case .answered(let answer): answer.isComplete ? "\(answer.status)" : "\(answer.status) cut"
        case .stanza: "stanza"
        }
    }

    var reason: String {
        switch self {
        case .unsent(let reason), .refused(let reason), .ambiguous(let reason): reason.description
        case .answered, .stanza: ""
        }
    }
}

extension [RequestOutcome] {
    /// For the message of a failed expectation.
    var summary: [String: Int] { Dictionary(map { ("\($0.kind) \($0.reason)", 1) }, uniquingKeysWith: +) }

    var kinds: [String: Int] { Dictionary(map { ($0.kind, 1) }, uniquingKeysWith: +) }
}
