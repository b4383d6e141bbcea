internal import FanfareClient
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import NIOConcurrencyHelpers
internal import StreamWire

/// A send that a request asks for.
struct WantedSend: Sendable {
    /// What it has in common with sends that may be in the same job.
    var key: JoinKey
    /// At most 1,000.
    var recipients: [String]
    /// The id of a job of its own; nil for a send that may share one.
    var id: String?
    /// The job itself, where it is no message to ``recipients``; it is one of its own.
    var job: PreparedJob?
    /// How long the request waits for its results.
    var waitNs: UInt64
    /// The key of its fingerprint; nil for a request that equal ones need not find.
    var recordKey: String?
    /// What Redis holds of the job's id before the push, where a client gave the id.
    var earlier: JobStatus?
    /// What its request adds to the metrics.
    var tally = RequestTally.current
}

extension WantedSend {
    /// Whether results belong to the recipients. A client's id may belong to another job, which some producer pushed.
    fileprivate func isOf(_ results: [ServedResult?]) -> Bool {
        guard recordKey == nil, job == nil, key.kind == .token || key.kind == .fid else { return true }
        return zip(results, recipients).allSatisfy { result, recipient in
            result.map { $0.recipient == recipient } ?? true
        }
    }
}

/// How a send ended for its request.
enum SendEnd: Sendable {
    /// An equal request was answered so before.
    case answered(ServedAnswer)
    /// The results in the order of the recipients; nil for each that did not come in time.
    case results(WaitingTable<UInt64>.Place, [ServedResult?])
    case rejected(job: String, problem: String)
    /// Nothing is in Redis.
    case unavailable(String)
    /// Whether the job is in Redis is not known.
    case unknown(job: String)
    /// The id that the client gave is that of a job to others.
    case foreign(job: String)
    /// The client left.
    case left

    /// Whether nothing was sent and nothing will be, so that the id of the job is free again.
    var sendsNothing: Bool {
        switch self {
        case .rejected, .unavailable: true
        default: false
        }
    }
}

/// Pushes what requests send, in joined jobs, and hands each request its results.
///
/// ``JoinWindow`` decides which requests are one job, ``WaitingTable`` who gets which result, ``RequestLedger`` what equal
/// requests find in Redis. One task, ``run()``, keeps their time and reads results.
final class SendDesk<Redis: RedisSending>: Sendable {
    struct Member {
        let continuation: CheckedContinuation<SendEnd, Never>
        let send: WantedSend
        let deadlineNs: UInt64
    }

    struct State {
        var window = JoinWindow<UInt64>()
        var table = WaitingTable<UInt64>()
        var ledger = RequestLedger()
        /// Records to change in Redis, the oldest first, by project.
        var changes: [String: [RequestLedger.Change]] = [:]
        var members: [UInt64: Member] = [:]
        /// Requests whose clients left before they were entered.
        var leftEarly: Set<UInt64> = []
        var newest: UInt64 = 0

        /// The requests of a job wait for its results from now on.
        mutating func enter(_ job: JoinWindow<UInt64>.Job, id: String) {
            var actions: [WaitingTable<UInt64>.Action] = []
            for (request, indices) in job.requests {
                ledger.place(request, at: DuplicateRule.Place(job: id, indices: indices))
                guard let member = members[request] else { continue }
                let place = WaitingTable<UInt64>.Place(project: job.key.project, job: id, indices: indices)
                let deadlineNs = member.deadlineNs
                table.handle(.wait(request, place, deadlineNs: deadlineNs, isPushed: false), into: &actions)
            }
        }

        mutating func add(_ change: RequestLedger.Change?, project: String) {
            if let change { changes[project, default: []].append(change) }
        }
    }

    typealias Job = JoinWindow<UInt64>.Job
    typealias NamedJob = (id: String, job: Job, push: PreparedJob?)

    let state = NIOLockedValueBox(State())
    let records: RequestRecords<Redis>
    /// Whether Redis may have run the command that ended with the error.
    let mayBeApplied: @Sendable (any Error) -> Bool
    let nowNs: @Sendable () -> UInt64
    let tail: ResultTail<Redis>
    let meters: GatewayMetrics
    let logger: Logger
    private let redis: Redis
    private let prefix: String
    private let maximumWaiting: Int
    let newJobID: @Sendable () -> String
    /// Between two looks at windows, deadlines and results.
    private static var tick: Duration { .milliseconds(3) }
    /// Each look at deadlines reads all requests that wait.
    private static var ticksOfALook: Int { 16 }
    /// Between two signs of life.
    private static var lifeNs: UInt64 { 400_000_000 }
    /// After a command that Redis did not take.
    static var repeatPause: Duration { .milliseconds(200) }
    /// Changes of a project that wait for Redis; of more, the oldest are dropped: their records end by themselves.
    private static var maximumChanges: Int { 100_000 }
    /// A request that has waited so long asks what became of its job.
    private static var doubtNs: UInt64 { 300_000_000 }

    init(
        records: RequestRecords<Redis>,
        maximumWaiting: Int,
        meters: GatewayMetrics,
        logger: Logger,
        inputs: GatewayInputs
    ) {
        (redis, prefix) = (records.redis, records.prefix)
        (self.records, self.maximumWaiting, self.logger) = (records, maximumWaiting, logger)
        (mayBeApplied, nowNs, newJobID) = (inputs.mayBeApplied, inputs.nowNs, inputs.newJobID)
        self.meters = meters
        tail = ResultTail(redis: redis, prefix: prefix, logger: logger)
    }

    // MARK: Requests

    /// Sends, and waits for the results. When the task is cancelled, the client left: its job continues without it.
    ///
    /// The caller ends the request with ``end(_:_:project:)`` unless the end is `left`, `answered` or `unavailable`.
    ///
    /// - Returns: the request's number in the ledger, and how the send ended.
    func send(_ send: WantedSend) async -> (request: UInt64, end: SendEnd) {
        let request = state.withLockedValue { state in
            state.newest += 1
            return state.newest
        }
        let end = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (jobs, end): ([NamedJob], SendEnd?) = state.withLockedValue { state in
                    if state.leftEarly.remove(request) != nil { return ([], .left) }
                    guard state.members.count < maximumWaiting else {
                        return ([], .unavailable("too many requests wait for their results"))
                    }
                    state.members[request] = Member(
                        continuation: continuation,
                        send: send,
                        deadlineNs: nowNs() + send.waitNs
                    )
                    if let key = send.recordKey { state.ledger.enter(request, key: key) }
                    return (enter(request, send, &state), nil)
                }
                if let end { continuation.resume(returning: end) }
                for (id, job, prepared) in jobs { Task { await push(job, id: id, prepared) } }
            }
        } onCancel: {
            leave(request)
        }
        // A client that left just after the end.
        state.withLockedValue { _ = $0.leftEarly.remove(request) }
        return (request, end)
    }

    /// - Returns: the jobs to push now.
    private func enter(_ request: UInt64, _ send: WantedSend, _ state: inout State) -> [NamedJob] {
        var jobs: [NamedJob] = []
        if let id = send.id {
            jobs = [(id, Self.job(of: request, send), send.job)]
        } else {
            let closed = state.window.add(request, send.recipients, to: send.key, nowNs: nowNs())
            jobs = closed.map { (newJobID(), $0, nil) }
        }
        for (id, job, _) in jobs { state.enter(job, id: id) }
        return jobs
    }

    /// A job of one request.
    static func job(of request: UInt64, _ send: WantedSend) -> Job {
        let requests = [(request: request, indices: 0..<Int64(send.recipients.count))]
        return JoinWindow.Job(key: send.key, recipients: send.recipients, requests: requests)
    }

    private func leave(_ request: UInt64) {
        let member: Member? = state.withLockedValue { state in
            guard let member = state.members.removeValue(forKey: request) else {
                state.leftEarly.insert(request)
                return nil
            }
            if state.window.remove(request) {
                state.ledger.forget(request)
                return member
            }
            var actions: [WaitingTable<UInt64>.Action] = []
            state.table.handle(.left(request), into: &actions)
            state.add(state.ledger.end(request, .left), project: member.send.key.project)
            return member
        }
        member?.continuation.resume(returning: .left)
    }

    /// What became of a request's answer.
    func end(_ request: UInt64, _ ending: RequestLedger.Ending, project: String) {
        state.withLockedValue { state in
            state.add(state.ledger.end(request, ending), project: project)
        }
    }

    // MARK: Time and results

    /// Keeps time and reads results until the task is cancelled. Time does not wait for Redis.
    func run() async {
        async let reading: Void = readResults()
        async let writing: Void = writeRecords()
        var asked: Set<String> = []
        var ticks = 0
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.tick)
            closeWindows()
            ticks += 1
            guard ticks.isMultiple(of: Self.ticksOfALook) else { continue }
            handle(.passed(nowNs: nowNs()))
            inquireOld(&asked)
        }
        await reading
        await writing
    }

    /// Writes what became of requests, and shows that this gateway lives. At the end, what is left is written.
    private func writeRecords() async {
        var lifeNs: UInt64 = 0
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.tick)
            if nowNs() >= lifeNs {
                lifeNs = nowNs() + Self.lifeNs
                Task { try? await records.showLife() }
            }
            if await !writeChanges() { try? await Task.sleep(for: Self.repeatPause) }
        }
        _ = await writeChanges()
    }

    private func writeChanges() async -> Bool {
        var areAllWritten = true
        for project in state.withLockedValue({ Array($0.changes.keys) }) {
            if await !writeChanges(project) { areAllWritten = false }
        }
        return areAllWritten
    }

    /// Writes what became of requests of a project. What Redis does not take is tried again.
    ///
    /// - Returns: whether Redis took it.
    func writeChanges(_ project: String) async -> Bool {
        let changes = state.withLockedValue { $0.changes.removeValue(forKey: project) ?? [] }
        do {
            try await records.change(changes)
            state.withLockedValue { $0.ledger.confirm(changes) }
            return true
        } catch {
            state.withLockedValue { state in
                let all = changes + (state.changes[project] ?? [])
                state.changes[project] = all.suffix(Self.maximumChanges)
                state.ledger.confirm(all.dropLast(Self.maximumChanges))
            }
            return false
        }
    }

    private func readResults() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.tick)
            await tail.forget { project in self.state.withLockedValue { !$0.table.isAwaited(project: project) } }
            for project in state.withLockedValue({ Array($0.table.projects) }) {
                await tail.read(
                    project,
                    isAwaited: { job in
                        self.state.withLockedValue { $0.table.isAwaited(project: project, job: job) }
                    }
                ) { self.handle($0) }
            }
        }
    }

    /// Pushes the jobs whose windows are over.
    private func closeWindows() {
        let jobs = state.withLockedValue { state in
            let jobs = state.window.close(nowNs: nowNs()).map { (id: newJobID(), job: $0) }
            for (id, job) in jobs { state.enter(job, id: id) }
            return jobs
        }
        for (id, job) in jobs { Task { await push(job, id: id, nil) } }
    }

    /// Asks once for each job with a client's id that requests have waited for long: an earlier job may have had the id. The
    /// results of every other job are still to be written when it is pushed.
    ///
    /// - Parameter asked: the jobs that were asked for and are still awaited.
    private func inquireOld(_ asked: inout Set<String>) {
        let now = nowNs()
        let old = state.withLockedValue { state in
            state.table.places.filter { request, _ in
                guard let member = state.members[request], member.send.recordKey == nil else { return false }
                let leftNs = member.deadlineNs > now ? member.deadlineNs - now : 0
                return leftNs + Self.doubtNs <= member.send.waitNs
            }.map(\.place)
        }
        let new = old.filter { !asked.contains("\($0.project) \($0.job)") }
        asked = Set(old.map { "\($0.project) \($0.job)" })
        if !new.isEmpty { Task { await inquire(new) } }
    }

    /// Asks what became of jobs: one that was over before a request waited for it, or was rejected, brings no result.
    func inquire(_ places: [WaitingTable<UInt64>.Place]) async {
        var seen: Set<String> = []
        for place in places where seen.insert("\(place.project) \(place.job)").inserted {
            let producer = FanfareProducer(redis: redis, project: place.project, prefix: prefix)
            guard let status = try? await producer.status(of: place.job), isOfThese(place, status) else { continue }
            if status.state == .rejected {
                handle(.rejected(project: place.project, job: place.job, problem: status.reason ?? "rejected"))
            } else {
                try? await producer.results(of: status, unreadable: { _ in }) { entry in
                    handle(ResultTail<Redis>.event(entry, project: place.project))
                }
            }
        }
    }

    /// Asks for a job whose id Redis knew before its push: its results may be there already.
    func inquireRepeatedly(_ place: WaitingTable<UInt64>.Place) async {
        for _ in 0..<40 {
            try? await Task.sleep(for: .milliseconds(50))
            let isAwaited = state.withLockedValue { $0.table.isAwaited(project: place.project, job: place.job) }
            guard isAwaited else { return }
            await inquire([place])
        }
    }

    /// Whether a status is that of the job which requests wait for, and not of an earlier one with the same id.
    private func isOfThese(_ place: WaitingTable<UInt64>.Place, _ status: JobStatus) -> Bool {
        state.withLockedValue { state in
            state.table.requests(project: place.project, job: place.job).contains { request in
                state.members[request].map { status.isNew(after: $0.send.earlier) } ?? false
            }
        }
    }

    func handle(_ event: WaitingTable<UInt64>.Event) {
        let ended: [(Member, SendEnd)] = state.withLockedValue { state in
            var actions: [WaitingTable<UInt64>.Action] = []
            state.table.handle(event, into: &actions)
            return actions.compactMap { action in
                switch action {
                case .answer(let request, let place, let results):
                    guard let member = state.members.removeValue(forKey: request) else { return nil }
                    return (member, member.send.isOf(results) ? .results(place, results) : .foreign(job: place.job))
                case .reject(let request, let place, let problem):
                    return state.members.removeValue(forKey: request).map {
                        ($0, .rejected(job: place.job, problem: problem))
                    }
                }
            }
        }
        for (member, end) in ended { member.continuation.resume(returning: end) }
    }
}
