internal import FanfareClient
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import NIOConcurrencyHelpers
internal import StreamWire

/// A send that a request asks for.
struct WantedSend: Sendable {
    /// The properties that the sends of one joined job share.
    var key: JoinKey
    /// The tokens, or one topic, condition or group; at most 1,000.
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
    let tally: RequestTally
    /// Counts the body of the request as long as the send holds much of it.
    var body: (any AnyObject & Sendable)?
}

extension WantedSend {
    /// Keeps only what the answer needs: the recipients. A list of them counts on.
    mutating func releaseMessage() {
        key.message = []
        if recipients.count == 1 { body = nil }
    }

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
    case results(WaitingTable.Place, [ServedResult?])
    case rejected(job: String, problem: String)
    /// Nothing is in Redis.
    case unavailable(String)
    /// Whether the job is in Redis is not known.
    case unknown(job: String)
    /// The id that the client gave is that of a job to others.
    case foreign(job: String)
    /// The client left.
    case left
}

/// Pushes what requests send, in joined jobs, and hands each request its results.
///
/// ``JoinWindow`` decides which requests are one job, ``WaitingTable`` who gets which result, ``RequestLedger`` and
/// ``EqualRequest`` what equal requests find in Redis. A request that waits holds no task: its end is called back.
/// ``run()`` keeps their deadlines and reads results.
final class SendDesk: Sendable {
    /// Called once with the end of a send, on any thread.
    typealias OnEnd = @Sendable (SendEnd) -> Void

    struct Member {
        var send: WantedSend
        let deadlineNs: UInt64
        let onEnd: OnEnd
    }

    struct State {
        var window = JoinWindow()
        /// Whether a task waits for the end of the next window.
        var isWindowTimed = false
        var table = WaitingTable()
        var ledger = RequestLedger()
        /// Records to change in Redis, the oldest first, by project.
        var changes: [String: [RequestLedger.Change]] = [:]
        var members: [UInt64: Member] = [:]
        /// The members whose clients gave the ids of their jobs.
        var named: Set<UInt64> = []
        /// Whether the client left, of each request whose send is being prepared.
        var early: [UInt64: Bool] = [:]
        var newest: UInt64 = 0

        /// The requests of a job wait for its results from now on.
        mutating func enter(_ job: JoinWindow.Job, id: String) {
            var actions: [WaitingTable.Action] = []
            for (request, indices) in job.requests {
                ledger.place(request, at: DuplicateRule.Place(job: id, indices: indices))
                guard let member = members[request] else { continue }
                let place = WaitingTable.Place(project: job.key.project, job: id, indices: indices)
                let deadlineNs = member.deadlineNs
                table.handle(.wait(request, place, deadlineNs: deadlineNs, isPushed: false), into: &actions)
            }
        }

        mutating func add(_ change: RequestLedger.Change?, project: String) {
            if let change { changes[project, default: []].append(change) }
        }
    }

    typealias Job = JoinWindow.Job
    typealias NamedJob = (id: String, job: Job, push: PreparedJob?)

    let state = NIOLockedValueBox(State())
    let records: RequestRecords
    /// Whether Redis may have run the command that ended with the error.
    let mayBeApplied: @Sendable (any Error) -> Bool
    let nowNs: @Sendable () -> UInt64
    let tail: ResultTail
    let meters: GatewayMetrics
    let logger: Logger
    private let redis: CountedRedis
    private let prefix: String
    /// Counts the requests of every API that wait.
    private let waits: WaitingRequests
    let newJobID: @Sendable () -> String
    /// Wakes the reading of results when a request begins to wait.
    let reading = WakeUp()
    /// Wakes the writing of records when one has changed.
    let writing = WakeUp()
    /// A request that has waited so long asks what became of its job.
    private static var doubtNs: UInt64 { 300_000_000 }

    init(
        records: RequestRecords,
        meters: GatewayMetrics,
        logger: Logger,
        inputs: GatewayInputs
    ) {
        (redis, prefix) = (records.redis, records.prefix)
        (self.records, self.meters, self.logger) = (records, meters, logger)
        (mayBeApplied, nowNs, newJobID) = (inputs.mayBeApplied, inputs.nowNs, inputs.newJobID)
        waits = inputs.waits
        tail = ResultTail(redis: redis, prefix: prefix, logger: logger)
    }

    // MARK: Requests

    /// The number of a new request, which ``send(_:as:onEnd:)`` or ``forget(_:)`` follows; nil if as many as may wait do.
    func begin() -> UInt64? {
        guard waits.enter() else { return nil }
        return state.withLockedValue { state in
            state.newest += 1
            state.early[state.newest] = false
            return state.newest
        }
    }

    /// A request that sends nothing.
    func forget(_ request: UInt64) {
        if state.withLockedValue({ $0.early.removeValue(forKey: request) }) != nil { waits.leave() }
    }

    /// Sends, and calls back with the results.
    ///
    /// The caller ends the request with ``end(_:_:project:)`` unless the end is `left`, `answered` or `unavailable`.
    func send(_ send: WantedSend, as request: UInt64, onEnd: @escaping OnEnd) {
        let (jobs, end): ([NamedJob], SendEnd?) = state.withLockedValue { state in
            if state.early.removeValue(forKey: request) == true {
                waits.leave()
                return ([], .left)
            }
            state.members[request] = Member(send: send, deadlineNs: nowNs() + send.waitNs, onEnd: onEnd)
            if let key = send.recordKey {
                state.ledger.enter(request, key: key)
            } else {
                state.named.insert(request)
            }
            return (enter(request, send, &state), nil)
        }
        if let end { return onEnd(end) }
        for (id, job, prepared) in jobs { Task { await push(job, id: id, prepared) } }
    }

    /// - Returns: the jobs to push now.
    private func enter(_ request: UInt64, _ send: WantedSend, _ state: inout State) -> [NamedJob] {
        var jobs: [NamedJob] = []
        if let id = send.id {
            jobs = [(id, Self.job(of: request, send), send.job)]
        } else {
            let closed = state.window.add(request, send.recipients, to: send.key, nowNs: nowNs())
            jobs = closed.map { (newJobID(), $0, nil) }
            if !state.isWindowTimed, state.window.nextNs != nil {
                state.isWindowTimed = true
                Task { await closeWindows() }
            }
        }
        for (id, job, _) in jobs { state.enter(job, id: id) }
        return jobs
    }

    /// The request waits no more.
    func take(_ request: UInt64, _ state: inout State) -> Member? {
        guard let member = state.members.removeValue(forKey: request) else { return nil }
        state.named.remove(request)
        waits.leave()
        return member
    }

    /// A job of one request.
    static func job(of request: UInt64, _ send: WantedSend) -> Job {
        let requests = [(request: request, indices: 0..<Int64(send.recipients.count))]
        return JoinWindow.Job(key: send.key, recipients: send.recipients, requests: requests)
    }

    /// The client of a request left: its job continues without it. Of a request that has ended, it changes nothing.
    func leave(_ request: UInt64) {
        let member: Member? = state.withLockedValue { state in
            guard let member = take(request, &state) else {
                if state.early[request] != nil { state.early[request] = true }
                return nil
            }
            if state.table.place(of: request) == nil, state.window.remove(request) {
                state.ledger.forget(request)
                return member
            }
            var actions: [WaitingTable.Action] = []
            state.table.handle(.left(request), into: &actions)
            state.add(state.ledger.end(request, .left), project: member.send.key.project)
            return member
        }
        writing.call()
        member?.onEnd(.left)
    }

    /// What became of a request's answer.
    func end(_ request: UInt64, _ ending: RequestLedger.Ending, project: String) {
        state.withLockedValue { state in
            state.add(state.ledger.end(request, ending), project: project)
        }
        writing.call()
    }

    // MARK: Results

    /// Asks once for each job with a client's id that requests have waited for long: an earlier job may have had the id. The
    /// results of every other job are still to be written when it is pushed.
    ///
    /// - Parameter asked: the jobs that were asked for and are still awaited.
    func inquireOld(_ asked: inout Set<String>) {
        let now = nowNs()
        let old = state.withLockedValue { state in
            state.named.compactMap { request -> WaitingTable.Place? in
                guard let member = state.members[request] else { return nil }
                let leftNs = member.deadlineNs > now ? member.deadlineNs - now : 0
                guard leftNs + Self.doubtNs <= member.send.waitNs else { return nil }
                return state.table.place(of: request)?.place
            }
        }
        let new = old.filter { !asked.contains("\($0.project) \($0.job)") }
        asked = Set(old.map { "\($0.project) \($0.job)" })
        if !new.isEmpty { Task { await inquire(new) } }
    }

    /// Asks what became of jobs: one that was over before a request waited for it, or was rejected, brings no result.
    func inquire(_ places: [WaitingTable.Place]) async {
        var seen: Set<String> = []
        for place in places where seen.insert("\(place.project) \(place.job)").inserted {
            let producer = FanfareProducer(redis: redis, project: place.project, prefix: prefix)
            guard let status = try? await producer.status(of: place.job), isOfThese(place, status) else { continue }
            if status.state == .rejected {
                handle(.rejected(project: place.project, job: place.job, problem: status.reason ?? "rejected"))
            } else {
                try? await producer.results(of: status, unreadable: { _ in }) { entry in
                    handle(ResultTail.event(entry, project: place.project))
                }
            }
        }
    }

    /// Asks for a job whose id Redis knew before its push: its results may be there already.
    func inquireRepeatedly(_ place: WaitingTable.Place) async {
        for _ in 0..<40 {
            try? await Task.sleep(for: .milliseconds(50))
            let isAwaited = state.withLockedValue { $0.table.isAwaited(project: place.project, job: place.job) }
            guard isAwaited else { return }
            await inquire([place])
        }
    }

    /// Whether a status is that of the job which requests wait for, and not of an earlier one with the same id.
    private func isOfThese(_ place: WaitingTable.Place, _ status: JobStatus) -> Bool {
        state.withLockedValue { state in
            state.table.requests(project: place.project, job: place.job).contains { request in
                state.members[request].map { status.isNew(after: $0.send.earlier) } ?? false
            }
        }
    }

    func handle(_ event: WaitingTable.Event) {
        let ended: [(Member, SendEnd)] = state.withLockedValue { state in
            var actions: [WaitingTable.Action] = []
            state.table.handle(event, into: &actions)
            return actions.compactMap { action in
                switch action {
                case .answer(let request, let place, let results):
                    guard let member = take(request, &state) else { return nil }
                    return (member, member.send.isOf(results) ? .results(place, results) : .foreign(job: place.job))
                case .reject(let request, let place, let problem):
                    return take(request, &state).map {
                        ($0, .rejected(job: place.job, problem: problem))
                    }
                }
            }
        }
        for (member, end) in ended { member.onEnd(end) }
    }
}
