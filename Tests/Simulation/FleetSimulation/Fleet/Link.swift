internal import FanfareCore
internal import StreamWire

/// One call from a worker to Redis, and its reply.
final class Call {
    enum Request {
        case claim(ClaimCall)
        case record(RecordRequest)
        case renew(Int)
        case register(Int)
        case declareDead(Int, counter: Int)
        case deregister(Int)
        case reconcile(Int, Int, isSameServer: Bool, [FunctionLibrary.KnownBatch])
        case release(Int, BatchName, epoch: UInt64, watermark: Int?)
        case spec(job: Int)
        case intake(job: Int, lease: Int?, connection: Int, window: Int)
        /// Counts what a quiet project has to do.
        case count(QuietPlan.Sign)
    }

    enum Reply {
        case none
        case fenced
        case claim(ClaimAnswer)
        /// nil for an error reply. Some of the call's writes may have been applied.
        case record(RecordReply?)
        case renewed([(lease: Int, counter: Int)])
        case count(Int)
        case registered(NewsID)
        /// Batches that Redis took from the worker; nil for a call of an earlier connection.
        case reconciled([BatchName]?)
        case spec(isOpen: Bool)
        case intake(ProjectState.IntakeReply)
    }

    let request: Request
    let runner: Runner
    let link: Link
    /// Generation of the connection and incarnation of the process that sent it.
    let generation: Int
    let incarnation: Int
    let sentAt: Int
    /// The flush that a `record` call carries.
    let flush: UInt64?
    var reply: Reply = .none
    var isLost = false
    /// The call reaches Redis no earlier than this time.
    var notBefore = 0
    var isApplied = false

    init(_ request: Request, runner: Runner, link: Link, sentAt: Int, flush: UInt64? = nil) {
        self.request = request
        self.runner = runner
        self.link = link
        generation = link.generation
        incarnation = runner.process.incarnation
        self.sentAt = sentAt
        self.flush = flush
    }
}

/// A worker's connection to Redis. It keeps the order in each direction and is cut at times.
final class Link {
    let isLease: Bool
    var generation = 0
    var isReady = false
    var isConnecting = false
    /// End of a period of high latency.
    var slowUntil = 0
    /// Connecting fails before this time.
    var isDownUntil = 0
    private(set) var cutAt = -1_000_000_000
    private var lastArrival = 0
    private var lastAnswer = 0
    private(set) var unanswered: [Call] = []

    init(isLease: Bool) { self.isLease = isLease }

    func arrival(_ call: Call, latency: Int, now: Int) -> Int {
        unanswered.append(call)
        lastArrival = max(lastArrival, now + latency)
        return lastArrival
    }

    func answer(latency: Int, now: Int) -> Int {
        lastAnswer = max(lastAnswer, now + latency)
        return lastAnswer
    }

    func answered(_ call: Call) {
        if let first = unanswered.first, first === call {
            unanswered.removeFirst()
        } else {
            unanswered.removeAll { $0 === call }
        }
    }

    var oldest: Int? { unanswered.first?.sentAt }

    /// Cuts the connection. Each call that Redis has not received is lost, or arrives later without a receiver for its
    /// reply.
    ///
    /// - Returns: the unanswered calls.
    func cut(_ dice: inout Dice, now: Int) -> [Call] {
        generation += 1
        cutAt = now
        isReady = false
        lastArrival = 0
        lastAnswer = 0
        defer { unanswered = [] }
        for call in unanswered where !call.isApplied { call.isLost = dice.chance(0.6) }
        return unanswered
    }
}
