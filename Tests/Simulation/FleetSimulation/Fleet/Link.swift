/// One call on its way to Redis and back.
final class Call {
    enum Request {
        case claim(ClaimRequest)
        case record(RecordRequest)
        case renew(Int)
        case register(Int)
        case bury(Int, counter: Int)
        case leave(Int)
        case reconcile(ReconcileRequest)
        case release(Int, BatchName, epoch: UInt64, upto: Int?)
        case spec(job: Int)
        case intake(job: Int, lease: Int?, connection: Int, window: Int)
    }

    enum Reply {
        case none
        case fenced
        case claim(ClaimReply)
        case record(RecordReply)
        case renewed([(lease: Int, counter: Int)])
        case count(Int)
        case registered(NewsID)
        /// Batches that Redis has taken; nil for a call of an earlier connection.
        case reconciled([BatchName]?)
        case spec(isOpen: Bool)
        case intake(ProjectState.IntakeReply)
    }

    let request: Request
    let runner: Runner
    let link: Link
    /// Of the connection it was sent on, and of the process.
    let generation: Int
    let incarnation: Int
    let sentAt: Int
    /// Of the flush it carries.
    let flush: PendingFlush?
    var reply: Reply = .none
    var isLost = false
    /// On its way so long.
    var notBefore = 0
    var isApplied = false

    init(_ request: Request, runner: Runner, link: Link, sentAt: Int, flush: PendingFlush? = nil) {
        self.request = request
        self.runner = runner
        self.link = link
        generation = link.generation
        incarnation = runner.process.incarnation
        self.sentAt = sentAt
        self.flush = flush
    }
}

/// A worker's connection to Redis: in order in each direction, and cut now and then.
final class Link {
    let isLease: Bool
    var generation = 0
    var isReady = false
    var isConnecting = false
    /// The path is slow until then.
    var slowUntil = 0
    /// No connection comes about before.
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

    /// What was under way is lost, or arrives some time, though nobody waits for it any more.
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
