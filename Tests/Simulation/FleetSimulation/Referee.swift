internal import FanfareModel

/// Counts of a run.
public struct Tally: Equatable, Sendable {
    public var sends = 0
    /// Flagged sends to recipients that an earlier send may have reached.
    public var repeats = 0
    /// Unflagged sends to those recipients after a rollback, which explains them.
    public var explained = 0
    public var results = 0
    /// Record calls that failed with an error reply.
    public var failedCalls = 0
    /// Recipients whose results entry was written again after a call that failed after its entry.
    public var repeatedEntries = 0
    public var crashes = 0
    /// Freezes between two actions of a turn.
    public var freezes = 0
    public var declaredDead = 0
    public var activations = 0
    public var preemptions = 0
    public var parked = 0
    public var holds = 0
    public var rollbacks = 0
    /// Pauses by stop conditions, ends of canaries, and slots that jobs gave up while they waited for their rate.
    public var stops = 0
    public var canaries = 0
    public var yields = 0
    /// First attempts of jobs with a rate that began long after they were granted.
    public var late = 0
    public var events = 0
    /// The longest hand-over of a slot in a run without disturbances, in microseconds.
    public var slowestHandOver = 0
    /// End of the last first pass, in microseconds.
    public var firstPass = 0
    /// Virtual time at the end, in microseconds.
    public var time = 0

    public init() {}
}

/// True time and the shared state of a run.
final class Clock {
    var now = 0
    var violation: String?
    var tally = Tally()
    /// True times of the last step of Redis' clock and of its last rollback; far in the past before the first.
    var steppedAt = -1_000_000_000
    var rolledBackAt = -1_000_000_000
    var hasRolledBack = false
    var hasSteppedBack = false
    let mutation: Mutation?
    let isCalm: Bool

    init(mutation: Mutation?, isCalm: Bool) {
        self.mutation = mutation
        self.isCalm = isCalm
    }
}

/// Records what happened in one project, independent of the state of Redis and the workers, and checks the rules.
final class Referee {
    struct Truth {
        var sends = 0
        /// Sends that arrived or may have arrived.
        var reached = 0
    }

    let clock: Clock
    private let project: Int
    private(set) var truth: [[Truth]]
    private var lastEpoch: UInt64 = 0
    private let activeLimit: Int
    private let quota: Int
    private var arrivals: [Int] = []
    private var firstArrival = 0
    /// True time of each job's last first-pass send.
    private var lastSendAt: [Int]
    /// Last send of the fan-out that released the slot while another one waited; nil without a waiting one.
    private var passEndedAt: Int?
    /// True times of the last announced hold.
    private var holdBeganAt = 0
    private var holdEndsAt = 0
    /// FCM's answers by true time.
    private var answers: [(at: Int, isRefused: Bool)] = []
    private var firstHoldAt: Int?
    private var reportedAt = 0
    private var level = 0.0
    /// By job the batches that workers held when its condition stopped it, with what they may still send.
    var stops: [Int: [BatchName: Allowance]] = [:]
    /// By job with a rate the true times of its first attempts of the last minute.
    var attempts: [Int: ArraySlice<Int>] = [:]
    private var firstOfSecond = 0
    var load: Load?

    init(clock: Clock, project: Int, jobs: [JobRecord], quota: Int, activeLimit: Int) {
        self.clock = clock
        self.project = project
        self.quota = quota
        self.activeLimit = activeLimit
        truth = jobs.map { Array(repeating: Truth(), count: $0.total) }
        lastSendAt = jobs.map { _ in 0 }
    }

    var now: Int { clock.now }
    var tally: Tally {
        get { clock.tally }
        set { clock.tally = newValue }
    }

    func breaks(_ mutation: Mutation) -> Bool { clock.mutation == mutation }

    func violate(_ text: @autoclosure () -> String) {
        guard clock.violation == nil else { return }
        clock.violation = "\(clock.now) us, project \(project): \(text())"
    }

    // MARK: Decisions

    func activated(_ holder: FanoutSlot.Holder?, of state: ProjectState) {
        guard let holder else { return }
        clock.tally.activations += 1
        if let ended = passEndedAt, clock.isCalm {
            clock.tally.slowestHandOver = max(clock.tally.slowestHandOver, clock.now - ended)
            if clock.now - ended > 100_000 { violate("a hand-over of the slot took \((clock.now - ended) / 1_000) ms") }
        }
        passEndedAt = nil
        if state.slot.active.count > activeLimit { violate("\(state.slot.active.count) fan-outs are active at once") }
        if holder.epoch <= lastEpoch, !(clock.hasRolledBack && clock.hasSteppedBack) {
            violate("epoch \(holder.epoch) after \(lastEpoch)")
        }
        lastEpoch = max(lastEpoch, holder.epoch)
        for job in state.jobs
        where job.kind.takesTurns && job.turn < holder.turn && ProjectState.canRun(job)
            && !state.slot.isActive(job.number) && !job.isDeferred
            && !state.scheduled.contains(where: { $0.job == job.number })
        {
            violate("job \(holder.turn.job) is activated before job \(job.number)")
        }
    }

    /// Checks that no job holds a slot after its first pass.
    func checkSlot(of state: ProjectState) {
        for holder in state.slot.active where holder.untilMs == nil {
            let job = state.jobs[holder.turn.job]
            guard job.kind == .fanout, job.passed * state.batchSize >= job.total, !ProjectState.hasFirstPass(job) else {
                continue
            }
            violate("job \(job.number) holds the slot after its first pass")
        }
    }

    func claimed(_ claims: [Given], of state: ProjectState) {
        for given in claims where given.ending == .none && !given.isQuarantined && !state.slot.isActive(given.name.job)
        {
            // A job may give the slot up after the batch that takes what its rate allows.
            guard let batch = state.batches[given.name], state.needsTurn(given.name, batch),
                !state.jobs[given.name.job].isDeferred
            else { continue }
            violate("\(given.name) is claimed without a turn")
        }
    }

    func waited(singles: Int) {
        if singles > 0 { violate("\(singles) single jobs wait for a fan-out") }
    }

    func decided(_ request: RecordRequest, batch: BatchRecord?, isHeld: Bool) {
        guard let batch, batch.owner == request.lease, batch.epoch == request.epoch, isHeld else {
            return violate("a decision of \(request.lease) on \(request.name) with epoch \(request.epoch) was accepted")
        }
    }

    func wrote(_ job: JobRecord, _ index: Int) {
        clock.tally.results += 1
        if job.written[index] > 1 { clock.tally.repeatedEntries += 1 }
        // A call that failed after its entry is repeated, which repeats the entry.
        if job.written[index] > job.unmarked[index] + 1 {
            violate("job \(job.number), recipient \(index): two results")
        }
    }

    func audit(_ job: JobRecord) {
        let sum = job.counters.values.reduce(0, +)
        if sum != job.total - job.left {
            violate("job \(job.number): \(sum) counted, \(job.left) of \(job.total) left")
        }
    }

    /// Records that a hold of the project was announced.
    func held(milliseconds: Int64) {
        clock.tally.holds += 1
        if clock.now >= holdEndsAt { holdBeganAt = clock.now }
        holdEndsAt = max(holdEndsAt, clock.now + Int(milliseconds) * 1_000)
    }

    /// Records the report of the active fan-out's last send.
    func passed(_ job: Int, isAnotherWaiting: Bool) {
        clock.tally.firstPass = clock.now
        passEndedAt = isAnotherWaiting ? lastSendAt[job] : nil
    }

    // MARK: Sends

    private var isRollbackFresh: Bool { clock.now - clock.rolledBackAt < 30_000_000 }

    /// A send from its worker's view.
    struct Send {
        var name: BatchName
        var epoch: UInt64
        var index: Int
        var position: Int
        /// An earlier attempt may have arrived.
        var isMaybeDuplicate: Bool
    }

    func willSend(_ send: Send, lease: Int, isPathClear: Bool, in state: ProjectStateBox) {
        let id = send.name.job
        let index = send.index
        clock.tally.sends += 1
        let known = truth[id][index]
        truth[id][index].sends += 1
        truth[id][index].reached += 1
        if known.reached > 0 {
            if state.value.jobs[id].isAtMostOnce, !clock.hasRolledBack {
                violate("job \(id), recipient \(index): sent again though at most once")
            } else if send.isMaybeDuplicate {
                clock.tally.repeats += 1
            } else if clock.hasRolledBack {
                clock.tally.explained += 1
            } else {
                violate("job \(id), recipient \(index): sent again without a flag")
            }
        }
        if !send.name.isRetry { lastSendAt[id] = clock.now }
        if state.value.jobs[id].isOver { return }
        checkOwner(send, lease, state)
        checkGuards(send, isFirst: known.sends == 0, state)
        checkStops(id, isPathClear, state)
    }

    private func checkOwner(_ send: Send, _ lease: Int, _ state: ProjectStateBox) {
        guard !clock.hasRolledBack else { return }
        // The failure detector may declare the worker dead a second later.
        if clock.now - (state.value.renewedAt[lease] ?? 0) > 8_100_000 { violate("\(lease) sends past its lease") }
        guard let record = state.value.batches[send.name], record.owner == lease, record.epoch == send.epoch else {
            return violate("\(send.name) is sent by \(lease), which does not hold it")
        }
    }

    private func checkStops(_ id: Int, _ isPathClear: Bool, _ state: ProjectStateBox) {
        guard !isRollbackFresh else { return }
        if let stopped = state.value.jobs[id].stoppedAt, clock.now - stopped > 1_000_000 {
            violate("job \(id) is sent \((clock.now - stopped) / 1_000) ms after it was stopped")
        }
        if state.value.isPaused, clock.now - state.value.pausedAt > 1_000_000 {
            violate("job \(id) is sent although the project is paused")
        }
        let length = clock.now - holdBeganAt
        // Permits and decisions last a quarter of a second each.
        let bound = isPathClear ? 100_000 : 510_000
        if clock.now < holdEndsAt, clock.steppedAt <= holdBeganAt, length > bound {
            violate("job \(id) is sent \(length / 1_000) ms into a hold")
        }
    }

    /// Records that FCM did not act on a send.
    func wasRefused(_ index: Int, of job: Int) { truth[job][index].reached -= 1 }

    /// Records an arrival and checks the quota in every window of 60 s.
    func arrived() {
        arrivals.append(clock.now)
        while arrivals[firstArrival] <= clock.now - 60_000_000 { firstArrival += 1 }
        let count = arrivals.count - firstArrival
        if count > quota { violate("\(count) sends within 60 s, the quota is \(quota)") }
        guard let load, load.refusedShare >= 0.5, let firstHoldAt else { return }
        while arrivals[firstOfSecond] <= clock.now - 1_000_000 { firstOfSecond += 1 }
        let inSecond = arrivals.count - firstOfSecond
        if inSecond > 20, clock.now - firstHoldAt > 1_500_000, clock.now < load.endsAt {
            violate("\(inSecond) sends in a second under overload")
        }
    }

    // MARK: The share rule

    /// The share of refusals of a run, and when they end.
    struct Load {
        var refusedShare: Double
        var endsAt: Int
    }

    func answered(isRefused: Bool) {
        if load != nil { answers.append((clock.now, isRefused)) }
    }

    func reported() { reportedAt = clock.now }

    /// Records that the share rule began a hold. A twentieth of twice the answers that the rule counts must be refusals.
    func heldOnEvidence() {
        firstHoldAt = firstHoldAt ?? clock.now
        guard load != nil else { return }
        let recent = answers.suffix(while: { $0.at >= clock.now - 2_000_000 })
        let counted = recent.count > 400 ? recent : answers.suffix(400)
        let refused = counted.count { $0.isRefused }
        if refused < 2 || 20 * refused < counted.count {
            violate("held although \(refused) of \(counted.count) answers were refusals")
        }
    }

    func paces(_ level: Double) {
        defer { self.level = level }
        guard load != nil, level > self.level + 0.001, clock.now - reportedAt > 2_100_000 else { return }
        violate("the pace climbs to \(level) although no answer was reported for 2 s")
    }

    // MARK: The end

    func judge(_ state: ProjectState) {
        for job in state.jobs {
            for index in 0..<job.total {
                let results = Int(job.written[index]) - Int(job.unmarked[index])
                if results != 1 || job.done[index] == .none {
                    violate("job \(job.number), recipient \(index): \(results) results at the end")
                }
                if truth[job.number][index].reached > 1, !job.isDuplicate[index], !clock.hasRolledBack {
                    violate("job \(job.number), recipient \(index): a duplicate without a flag")
                }
            }
            for status in ResultStatus.allCases {
                let count = job.done.count { $0 == status }
                if count != job.counters[status, default: 0] {
                    violate("job \(job.number): counter \(status) is wrong")
                }
            }
        }
        if !state.slot.active.filter({ $0.untilMs == nil }).isEmpty { violate("the slot is held at the end") }
        if !state.claims.allSatisfy(\.value.isEmpty) {
            for names in state.claims.values.joined() where !state.jobs[names.job].isOver {
                violate("\(names) is held")
            }
        }
    }
}

extension Array {
    /// The longest suffix whose elements all fulfil a condition.
    fileprivate func suffix(while isIncluded: (Element) -> Bool) -> ArraySlice<Element> {
        let from = lastIndex { !isIncluded($0) }.map { $0 + 1 } ?? startIndex
        return self[from...]
    }
}

/// Reference to a state, so that reading it copies nothing.
final class ProjectStateBox {
    var value: ProjectState
    init(_ value: ProjectState) { self.value = value }
}
