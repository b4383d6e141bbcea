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
    /// At most 1,000, none twice.
    var recipients: [String]
    /// The id of a job of its own; nil for a send that may share one.
    var id: String?
    /// The job itself, where it is no message to ``recipients``; it is one of its own.
    var job: PushJob?
    /// How long the request waits for its results.
    var waitNs: UInt64
}

/// How a send ended for its request.
enum SendEnd: Sendable {
    /// The results in the order of the recipients; nil for each that did not come in time.
    case results(WaitingTable<UInt64>.Place, [ServedResult?])
    case rejected(job: String, problem: String)
    /// Nothing is in Redis.
    case unavailable(String)
    /// Whether the job is in Redis is not known.
    case unknown(job: String)
    /// The client is gone.
    case left
}

/// Pushes what requests send, in joined jobs, and hands each request its results.
///
/// ``JoinWindow`` decides which requests are one job, ``WaitingTable`` who gets which result. One task, ``run()``, keeps
/// their time and reads results.
final class SendDesk<Redis: RedisSending>: Sendable {
    private struct Member {
        let continuation: CheckedContinuation<SendEnd, Never>
        let send: WantedSend
        let deadlineNs: UInt64
    }

    private struct State {
        var window = JoinWindow<UInt64>()
        var table = WaitingTable<UInt64>()
        var members: [UInt64: Member] = [:]
        /// Requests whose clients were gone before they were entered.
        var gone: Set<UInt64> = []
        var newest: UInt64 = 0
        /// What is told of requests whose clients left before their job was in Redis.
        var leavers: [JobPlace: [@Sendable () -> Void]] = [:]

        /// The requests of a job wait for its results from now on.
        mutating func enter(_ job: JoinWindow<UInt64>.Job, id: String) {
            var actions: [WaitingTable<UInt64>.Action] = []
            for (request, indices) in job.requests {
                guard let member = members[request] else { continue }
                let place = WaitingTable<UInt64>.Place(project: job.key.project, job: id, indices: indices)
                let deadlineNs = member.deadlineNs
                table.handle(.wait(request, place, deadlineNs: deadlineNs, isPushed: false), into: &actions)
            }
        }
    }

    private struct JobPlace: Hashable {
        var project: String
        var job: String
    }

    private typealias NamedJob = (id: String, job: JoinWindow<UInt64>.Job, push: PushJob?)

    private let state = NIOLockedValueBox(State())
    private let redis: Redis
    private let prefix: String
    private let maximumWaiting: Int
    private let mayBeApplied: @Sendable (any Error) -> Bool
    private let nowNs: @Sendable () -> UInt64
    private let newJobID: @Sendable () -> String
    let tail: ResultTail<Redis>
    private let logger: Logger
    /// Between two looks at windows, deadlines and results.
    private static var tick: Duration { .milliseconds(3) }
    /// Each look at deadlines reads all requests that wait.
    private static var ticksOfALook: Int { 16 }
    /// A request that has waited so long asks what became of its job: it may be an earlier one, or rejected.
    private static var doubtNs: UInt64 { 300_000_000 }
    /// How long the push of a job is tried for which no request waits any more.
    private static var unawaitedNs: UInt64 { 60_000_000_000 }
    /// A push that may have been lost is repeated: its id makes that harmless.
    private static var repeatPause: Duration { .milliseconds(200) }

    /// - Parameter mayBeApplied: whether Redis may have run the command that ended with the error.
    init(
        redis: Redis,
        prefix: String,
        maximumWaiting: Int,
        logger: Logger,
        mayBeApplied: @escaping @Sendable (any Error) -> Bool,
        nowNs: @escaping @Sendable () -> UInt64,
        newJobID: @escaping @Sendable () -> String
    ) {
        (self.redis, self.prefix, self.maximumWaiting, self.logger) = (redis, prefix, maximumWaiting, logger)
        (self.mayBeApplied, self.nowNs, self.newJobID) = (mayBeApplied, nowNs, newJobID)
        tail = ResultTail(redis: redis, prefix: prefix, logger: logger)
    }

    /// The id of a job of its own.
    func newID() -> String { newJobID() }

    // MARK: Requests

    /// Sends, and waits for the results. When the task is cancelled, `onLeft` gets the job that continues without the
    /// request, if there is one.
    func send(
        _ send: WantedSend,
        onLeft: @escaping @Sendable (_ place: WaitingTable<UInt64>.Place) -> Void
    ) async -> SendEnd {
        await wait(send, onLeft: onLeft) { request, state in
            var jobs: [NamedJob] = []
            if let id = send.id {
                let requests = [(request: request, indices: 0..<Int64(send.recipients.count))]
                let job = JoinWindow.Job(key: send.key, recipients: send.recipients, requests: requests)
                jobs = [(id, job, send.job)]
            } else {
                let closed = state.window.add(request, send.recipients, to: send.key, nowNs: self.nowNs())
                jobs = closed.map { (self.newJobID(), $0, nil) }
            }
            for (id, job, _) in jobs { state.enter(job, id: id) }
            return jobs
        }
    }

    /// Waits for the results of a job that an earlier request pushed.
    func takeOver(
        _ send: WantedSend,
        at place: WaitingTable<UInt64>.Place,
        onLeft: @escaping @Sendable (_ place: WaitingTable<UInt64>.Place) -> Void
    ) async -> SendEnd {
        await wait(send, onLeft: onLeft) { request, state in
            var actions: [WaitingTable<UInt64>.Action] = []
            let deadline = self.nowNs() + send.waitNs
            state.table.handle(.wait(request, place, deadlineNs: deadline, isPushed: true), into: &actions)
            Task {
                await self.tail.follow(place.project)
                await self.inquire([place])
            }
            return []
        }
    }

    private func wait(
        _ send: WantedSend,
        onLeft: @escaping @Sendable (WaitingTable<UInt64>.Place) -> Void,
        enter: @Sendable (UInt64, inout State) -> [NamedJob]
    ) async -> SendEnd {
        let request = state.withLockedValue { state in
            state.newest += 1
            return state.newest
        }
        let end = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (jobs, end): ([NamedJob], SendEnd?) = state.withLockedValue { state in
                    if state.gone.remove(request) != nil { return ([], .left) }
                    guard state.members.count < maximumWaiting else {
                        return ([], .unavailable("too many requests wait for their results"))
                    }
                    state.members[request] = Member(
                        continuation: continuation,
                        send: send,
                        deadlineNs: nowNs() + send.waitNs
                    )
                    return (enter(request, &state), nil)
                }
                if let end { continuation.resume(returning: end) }
                for (id, job, prepared) in jobs { Task { await push(job, id: id, prepared) } }
            }
        } onCancel: {
            leave(request, onLeft)
        }
        // A client that left just after the end.
        state.withLockedValue { _ = $0.gone.remove(request) }
        return end
    }

    /// `onLeft` is called once the job is in Redis: a repeat must not wait for a job that Redis never took.
    private func leave(_ request: UInt64, _ onLeft: @escaping @Sendable (WaitingTable<UInt64>.Place) -> Void) {
        let (member, place): (Member?, WaitingTable<UInt64>.Place?) = state.withLockedValue { state in
            guard let member = state.members.removeValue(forKey: request) else {
                state.gone.insert(request)
                return (nil, nil)
            }
            if state.window.remove(request) { return (member, nil) }
            let known = state.table.place(of: request)
            var actions: [WaitingTable<UInt64>.Action] = []
            state.table.handle(.left(request), into: &actions)
            guard let known, !known.isPushed else { return (member, known?.place) }
            let name = JobPlace(project: known.place.project, job: known.place.job)
            state.leavers[name, default: []].append { onLeft(known.place) }
            return (member, nil)
        }
        if let place { onLeft(place) }
        member?.continuation.resume(returning: .left)
    }

    // MARK: Jobs

    private func push(_ joined: JoinWindow<UInt64>.Job, id: String, _ prepared: PushJob?) async {
        let key = joined.key
        await tail.follow(key.project)
        // A job whose clients are all gone is pushed, too: they are remembered, and their repeats take it over.
        let lasts = state.withLockedValue { state in
            joined.requests.compactMap { state.members[$0.request]?.deadlineNs }.max() ?? nowNs() + Self.unawaitedNs
        }
        let job = key.job(to: joined.recipients, id: id, prepared)
        let producer = FanfareProducer(redis: redis, project: key.project, prefix: prefix)
        var isDoubtful = false
        while true {
            do {
                _ = try await producer.add(job)
                return pushed(key.project, id, isLate: lasts <= nowNs())
            } catch {
                isDoubtful = isDoubtful || mayBeApplied(error)
                logger.warning(
                    "A push failed.",
                    metadata: ["project": "\(key.project)", "job": "\(id)", "error": "\(error)"]
                )
                guard isDoubtful, nowNs() < lasts else {
                    let cause = "Redis did not take the job: \(error)"
                    return end(key.project, id, with: isDoubtful ? .unknown(job: id) : .unavailable(cause))
                }
                try? await Task.sleep(for: Self.repeatPause)
            }
        }
    }

    /// - Parameter isLate: whether the deadlines of its requests are over, as without a wait.
    private func pushed(_ project: String, _ id: String, isLate: Bool) {
        handle(.pushed(project: project, job: id))
        let leavers = state.withLockedValue { $0.leavers.removeValue(forKey: JobPlace(project: project, job: id)) }
        for tell in leavers ?? [] { tell() }
        if isLate { handle(.passed(nowNs: nowNs())) }
    }

    /// Ends all requests of a job that Redis did not take.
    private func end(_ project: String, _ id: String, with end: SendEnd) {
        let members = state.withLockedValue { state in
            state.leavers[JobPlace(project: project, job: id)] = nil
            return state.table.requests(project: project, job: id).compactMap { request -> Member? in
                var actions: [WaitingTable<UInt64>.Action] = []
                state.table.handle(.left(request), into: &actions)
                return state.members.removeValue(forKey: request)
            }
        }
        for member in members { member.continuation.resume(returning: end) }
    }

    // MARK: Time and results

    /// Keeps time and reads results until the task is cancelled. Time does not wait for Redis.
    func run() async {
        async let reading: Void = readResults()
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

    /// Asks once for each job that requests have waited for long.
    ///
    /// - Parameter asked: the jobs that were asked for and are still awaited.
    private func inquireOld(_ asked: inout Set<String>) {
        let now = nowNs()
        let old = state.withLockedValue { state in
            state.table.places.filter { request, _ in
                guard let member = state.members[request] else { return false }
                let leftNs = member.deadlineNs > now ? member.deadlineNs - now : 0
                return leftNs + Self.doubtNs <= member.send.waitNs
            }.map(\.place)
        }
        let new = old.filter { !asked.contains("\($0.project) \($0.job)") }
        asked = Set(old.map { "\($0.project) \($0.job)" })
        if !new.isEmpty { Task { await inquire(new) } }
    }

    /// Asks what became of jobs: one that was over before anyone waited for it, or was rejected, brings no result.
    private func inquire(_ places: [WaitingTable<UInt64>.Place]) async {
        var seen: Set<String> = []
        for place in places where seen.insert(place.job).inserted {
            let producer = FanfareProducer(redis: redis, project: place.project, prefix: prefix)
            guard let status = try? await producer.status(of: place.job) else { continue }
            if status.state == .rejected {
                handle(.rejected(project: place.project, job: place.job, problem: status.reason ?? "rejected"))
            } else if status.isOver {
                try? await producer.results(of: status, unreadable: { _ in }) { entry in
                    handle(ResultTail<Redis>.event(entry, project: place.project))
                }
            }
        }
    }

    private func handle(_ event: WaitingTable<UInt64>.Event) {
        let ended: [(Member, SendEnd)] = state.withLockedValue { state in
            var actions: [WaitingTable<UInt64>.Action] = []
            state.table.handle(event, into: &actions)
            return actions.compactMap { action in
                switch action {
                case .answer(let request, let place, let results):
                    return state.members.removeValue(forKey: request).map { ($0, .results(place, results)) }
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

extension JoinKey {
    /// - Parameter prepared: the job itself, where it is no message.
    func job(to recipients: [String], id: String?, _ prepared: PushJob?) -> PushJob {
        var job = prepared ?? PushJob(target: target(recipients), message: message)
        if prepared == nil { (job.format, job.validateOnly, job.delivery) = (format, validateOnly, delivery) }
        (job.id, job.results, job.priority, job.expiresAt) = (id, .all, priority, expiresAt)
        return job
    }

    private func target(_ recipients: [String]) -> Target {
        switch kind {
        case .fid: return .fids(RecipientList(recipients))
        case .topic: return .topic(recipients[0])
        case .condition: return .condition(recipients[0])
        case .group: return .group(recipients[0])
        default: return .tokens(RecipientList(recipients))
        }
    }
}
