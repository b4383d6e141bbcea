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

        /// The requests of a job wait for its results from now on.
        mutating func enter(_ job: JoinWindow<UInt64>.Job, id: String) {
            var actions: [WaitingTable<UInt64>.Action] = []
            for (request, indices) in job.requests {
                guard let member = members[request] else { continue }
                let place = WaitingTable<UInt64>.Place(project: job.key.project, job: id, indices: indices)
                table.handle(.wait(request, place, deadlineNs: member.deadlineNs), into: &actions)
            }
        }
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
    /// A request that has waited so long asks what became of its job: it may be an earlier one, or rejected.
    private static var doubtNs: UInt64 { 300_000_000 }
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

    /// Requests that wait now.
    var waiting: Int { state.withLockedValue { $0.members.count } }

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
        await tail.follow(place.project)
        return await wait(send, onLeft: onLeft) { request, state in
            var actions: [WaitingTable<UInt64>.Action] = []
            let deadline = self.nowNs() + send.waitNs
            state.table.handle(.wait(request, place, deadlineNs: deadline), into: &actions)
            Task { await self.inquire([place]) }
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
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let jobs: [NamedJob] = state.withLockedValue { state in
                    if state.gone.remove(request) != nil {
                        continuation.resume(returning: .left)
                        return []
                    }
                    guard state.members.count < maximumWaiting else {
                        continuation.resume(returning: .unavailable("too many requests wait for their results"))
                        return []
                    }
                    state.members[request] = Member(
                        continuation: continuation,
                        send: send,
                        deadlineNs: nowNs() + send.waitNs
                    )
                    return enter(request, &state)
                }
                for (id, job, prepared) in jobs { Task { await push(job, id: id, prepared) } }
            }
        } onCancel: {
            leave(request, onLeft)
        }
    }

    private func leave(_ request: UInt64, _ onLeft: (WaitingTable<UInt64>.Place) -> Void) {
        let (member, place): (Member?, WaitingTable<UInt64>.Place?) = state.withLockedValue { state in
            guard let member = state.members.removeValue(forKey: request) else {
                if request > 0 { state.gone.insert(request) }
                return (nil, nil)
            }
            if state.window.remove(request) { return (member, nil) }
            let place = state.table.place(of: request)
            var actions: [WaitingTable<UInt64>.Action] = []
            state.table.handle(.left(request), into: &actions)
            return (member, place)
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
            joined.requests.compactMap { state.members[$0.request]?.deadlineNs }.max() ?? nowNs()
        }
        var job = prepared ?? PushJob(target: key.target(joined.recipients), message: key.message)
        if prepared == nil {
            (job.format, job.validateOnly, job.delivery) = (key.format, key.validateOnly, key.delivery)
        }
        (job.id, job.results, job.priority, job.expiresAt) = (id, .all, key.priority, key.expiresAt)
        let producer = FanfareProducer(redis: redis, project: key.project, prefix: prefix)
        var isDoubtful = false
        while true {
            do {
                _ = try await producer.add(job)
                return
            } catch {
                isDoubtful = isDoubtful || mayBeApplied(error)
                logger.warning(
                    "A push failed.",
                    metadata: ["project": "\(key.project)", "job": "\(id)", "error": "\(error)"]
                )
                guard isDoubtful, nowNs() < lasts else {
                    return end(joined, with: isDoubtful ? .unknown(job: id) : .unavailable("Redis is away: \(error)"))
                }
                try? await Task.sleep(for: Self.repeatPause)
            }
        }
    }

    private func end(_ joined: JoinWindow<UInt64>.Job, with end: SendEnd) {
        let members = state.withLockedValue { state in
            joined.requests.compactMap { request, _ -> Member? in
                var actions: [WaitingTable<UInt64>.Action] = []
                state.table.handle(.left(request), into: &actions)
                return state.members.removeValue(forKey: request)
            }
        }
        for member in members { member.continuation.resume(returning: end) }
    }

    // MARK: Time and results

    /// Keeps time and reads results until the task is cancelled.
    func run() async {
        var asked: Set<String> = []
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.tick)
            let now = nowNs()
            let (jobs, projects, doubtful) = state.withLockedValue { state in
                let jobs = state.window.close(nowNs: now).map { (id: newJobID(), job: $0) }
                for (id, job) in jobs { state.enter(job, id: id) }
                let doubtful = state.table.places.filter { request, place in
                    guard let member = state.members[request], !asked.contains(place.job) else { return false }
                    return member.deadlineNs <= now + 50_000_000
                        || member.deadlineNs - now + Self.doubtNs <= member.send.waitNs
                }.map(\.place)
                return (jobs, Array(state.table.projects), doubtful)
            }
            for (id, job) in jobs { Task { await push(job, id: id, nil) } }
            if projects.isEmpty { asked = [] }
            if !doubtful.isEmpty {
                asked.formUnion(doubtful.map(\.job))
                Task { await inquire(doubtful) }
            }
            for project in projects {
                await tail.read(
                    project,
                    isAwaited: { job in
                        self.state.withLockedValue { $0.table.isAwaited(project: project, job: job) }
                    }
                ) { self.handle($0) }
            }
            handle(.passed(nowNs: nowNs()))
        }
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
    func target(_ recipients: [String]) -> Target {
        switch kind {
        case .fid: return .fids(RecipientList(recipients))
        case .topic: return .topic(recipients[0])
        case .condition: return .condition(recipients[0])
        case .group: return .group(recipients[0])
        default: return .tokens(RecipientList(recipients))
        }
    }
}
