import CurlTransport
import EventLoop
import FanfareModel
import HTTPLanes
import Testing

/// A pool on a loop that runs on the test's own thread.
final class PoolHarness {
    let loop: EventLoop
    let pool: LanePool
    private(set) var outcomes: [UInt64: RequestOutcome] = [:]
    /// Outcomes beyond the first of a request: always a fault.
    private(set) var surplus = 0
    private(set) var timedOut = false
    private var waiting: [HTTPRequest] = []
    private var nextTag: UInt64 = 1
    private var expected = 0

    private static let prepared: Void = CurlEnvironment.prepare()

    init(_ change: (inout OriginConfiguration) -> Void = { _ in }) throws {
        Self.prepared
        var configuration = OriginConfiguration(caFile: try Certificates.shared.get().authority)
        change(&configuration)
        loop = try EventLoop()
        pool = LanePool(overCurl: configuration, loop: loop)
        pool.onCompletion = { [unowned self] tag, outcome in
            if outcomes.updateValue(outcome, forKey: tag) != nil { surplus += 1 }
        }
        loop.onTurnEnd { [unowned self] in
            feed()
            if outcomes.count >= expected, pool.isIdle { loop.stop() }
        }
    }

    deinit { pool.close() }

    /// Sends `count` requests, never more than the pool has room for, and runs until each has its outcome.
    /// Bodies are `body-<tag>` and so many
    /// spaces.
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
        for _ in 0..<count {
            waiting.append(
                HTTPRequest(
                    tag: nextTag,
                    url: url,
                    headers: ["Content-Type: application/json", "Authorization: Bearer x"],
                    body: Array("body-\(nextTag)".utf8) + [UInt8](repeating: UInt8(ascii: " "), count: padding),
                    timeoutMs: timeoutMs
                )
            )
            nextTag += 1
        }
        expected += count
        runLoop(limitMs, meanwhile)
        return (first..<nextTag).compactMap { outcomes[$0] }
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
        loop.run()
        loop.cancel(limit)
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
        case .unsent(let reason), .refused(let reason), .ambiguous(let reason): reason
        case .answered, .stanza: ""
        }
    }
}

extension [RequestOutcome] {
    /// For the message of a failed expectation.
    var summary: [String: Int] { Dictionary(map { ("\($0.kind) \($0.reason)", 1) }, uniquingKeysWith: +) }

    var kinds: [String: Int] { Dictionary(map { ($0.kind, 1) }, uniquingKeysWith: +) }
}
