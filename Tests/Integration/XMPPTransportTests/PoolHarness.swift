import EventLoop
import FCMWire
import FanfareModel
import TestSupport
import XMPPTransport

/// A pool on a loop that runs on the test's own thread.
final class PoolHarness {
    let loop: EventLoop
    let pool: XMPPPool
    private(set) var outcomes: [UInt64: RequestOutcome] = [:]
    /// Outcomes beyond the first of a message: always a fault.
    private(set) var surplus = 0
    private(set) var incoming: [XMPPIncoming] = []
    private(set) var replies: [XMPPReply] = []
    private(set) var connections: [Int] = []
    private(set) var warnings: [String] = []
    private(set) var incidents: [XMPPIncident] = []
    /// Incidents, including the ones that the pool only counted.
    private(set) var incidentCount = 0
    private(set) var refusals: [String] = []
    private(set) var timesReady = 0
    private(set) var timedOut = false
    var onReady: () -> Void = {}
    /// Whether what comes in is acknowledged at once.
    var acknowledgesAtOnce = true
    private var queue: [(tag: UInt64, to: String)] = []
    private var head = 0
    private var nextTag: UInt64 = 1
    private var isDone: (PoolHarness) -> Bool = { _ in true }
    private var isRunning = false

    init(port: Int, host: String = "localhost", _ change: (inout XMPPConfiguration) -> Void = { _ in }) throws {
        var configuration = XMPPConfiguration(
            host: host,
            port: port,
            caFile: try XMPPPeer.certificates.get().caFile,
            senderID: "123456",
            serverKey: "AAAA:secret"
        )
        configuration.maximumConnections = 4
        configuration.shortestBackoffMs = 50
        configuration.longestBackoffMs = 200
        change(&configuration)
        loop = try EventLoop()
        pool = XMPPPool(loop: loop, configuration: configuration, random: { 0.5 })
        pool.onCompletion = { [unowned self] tag, outcome in
            if outcomes.updateValue(outcome, forKey: tag) != nil { surplus += 1 }
        }
        pool.onIncoming = { [unowned self] incoming, reply in
            self.incoming.append(incoming)
            if acknowledgesAtOnce { reply.acknowledge() } else { replies.append(reply) }
        }
        pool.onConnections = { [unowned self] count in connections.append(count) }
        pool.onWarning = { [unowned self] line in warnings.append(line) }
        pool.onIncidents = { [unowned self] first, count in
            incidents.append(first)
            incidentCount += count
        }
        pool.onRefusedCredential = { [unowned self] reason in refusals.append(reason) }
        pool.onReady = { [unowned self] in
            timesReady += 1
            onReady()
        }
        loop.onTurnEnd { [unowned self] in
            feed()
            if isRunning, isDone(self) {
                isRunning = false
                loop.stop()
            }
        }
    }

    deinit {
        // Closing calls back, and the harness is going away.
        pool.onCompletion = { _, _ in }
        pool.onConnections = { _ in }
        pool.onWarning = { _ in }
        pool.onIncidents = { _, _ in }
        pool.close()
    }

    /// Sends a message to each of `recipients`, as the pool has room, and runs until all have their outcome.
    @discardableResult
    func run(_ recipients: [String], limitMs: Int64 = 15_000) -> [RequestOutcome] {
        let tags = enqueue(recipients)
        run(until: { harness in tags.allSatisfy { harness.outcomes[$0] != nil } }, limitMs: limitMs)
        return tags.compactMap { outcomes[$0] }
    }

    func enqueue(_ recipients: [String]) -> [UInt64] {
        recipients.map { to in
            defer { nextTag += 1 }
            queue.append((nextTag, to))
            return nextTag
        }
    }

    /// Runs until the condition holds at the end of a turn.
    func run(until isDone: @escaping (PoolHarness) -> Bool, limitMs: Int64 = 15_000) {
        self.isDone = isDone
        isRunning = true
        let limit = loop.schedule(afterMilliseconds: limitMs) { [unowned self] in
            timedOut = true
            isRunning = false
            loop.stop()
        }
        tick()
        loop.run()
        loop.cancel(limit)
    }

    /// Makes turns for conditions that depend on the peer alone.
    private func tick() {
        loop.schedule(afterMilliseconds: 20) { [weak self] in
            guard let self, isRunning else { return }
            tick()
        }
    }

    func run(milliseconds: Int64) {
        var isOver = false
        loop.schedule(afterMilliseconds: milliseconds) { isOver = true }
        run(until: { _ in isOver }, limitMs: milliseconds + 5_000)
    }

    private func feed() {
        while head < queue.count, pool.freeSlots > 0 {
            let (tag, to) = queue[head]
            head += 1
            let json = #"{"to":"\#(to)","message_id":"job/\#(tag)/1/0","data":{"k":"<&\"v\">"}}"#
            pool.send(tag: tag, messageID: "job/\(tag)/1/0", to: to, json: Array(json.utf8))
        }
    }
}

extension RequestOutcome {
    /// The class alone, and of an answer its kind.
    var kind: String {
        switch self {
        case .unsent: "unsent"
        case .refused: "refused"
        case .ambiguous: "ambiguous"
        case .answered: "answered"
        case .stanza(let json): String(decoding: json, as: UTF8.self).contains("nack") ? "nack" : "ack"
        }
    }

    var reason: String {
        switch self {
        case .unsent(let reason), .refused(let reason), .ambiguous(let reason): reason.description
        case .answered: ""
        case .stanza(let json): String(decoding: json, as: UTF8.self)
        }
    }
}

extension [RequestOutcome] {
    var kinds: [String: Int] { Dictionary(map { ($0.kind, 1) }, uniquingKeysWith: +) }
}
