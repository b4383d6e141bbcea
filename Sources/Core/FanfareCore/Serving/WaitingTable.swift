/// The requests that wait for the results of their recipients.
///
/// A request waits for some recipients of one job, several requests for the recipients of a joined one. It is answered when it has
/// every result, or at its deadline with the results that it has. A deadline waits for the push: no client
/// is told of a job that Redis may not have.
///
/// ```
///         wait                 pushed             last result, rejected, or deadline
/// ─────────────► unpushed ─────────────► waiting ──────────────────────────────────► answered
///                   │                      │
///                   └──────── left ────────┴──► forgotten
/// ```
public struct WaitingTable: Sendable {
    /// The number of a request.
    public typealias Request = UInt64

    /// The recipients of a job that a request waits for.
    public struct Place: Equatable, Sendable {
        public var project: String
        public var job: String
        /// Positions of the recipients in the job.
        public var indices: Range<Int64>

        public init(project: String, job: String, indices: Range<Int64>) {
            (self.project, self.job, self.indices) = (project, job, indices)
        }
    }

    public enum Event: Sendable {
        /// A request waits from now on, until a time.
        case wait(Request, Place, deadlineNs: UInt64, isPushed: Bool)
        /// A job is in Redis. Requests whose deadlines are over are answered.
        case pushed(project: String, job: String, nowNs: UInt64)
        /// Results of a job, with their positions.
        case results(project: String, job: String, [(index: Int64, result: ServedResult)])
        /// No recipient of a job gets a result.
        case rejected(project: String, job: String, problem: String)
        /// The client of a request left.
        case left(Request)
        case passed(nowNs: UInt64)
    }

    public enum Action: Equatable, Sendable {
        /// The results in the order of the place's positions; nil for each that did not come in time.
        case answer(Request, Place, [ServedResult?])
        /// The job was rejected.
        case reject(Request, Place, problem: String)
    }

    private struct JobName: Hashable {
        var project: String
        var job: String
    }

    private struct Entry {
        var place: Place
        /// Empty before the first result.
        var results: [ServedResult?] = []
        var missing: Int
        var deadlineNs: UInt64
        var isPushed: Bool

        var noResults: [ServedResult?] { Array(repeating: nil, count: place.indices.count) }
    }

    private var entries: [Request: Entry] = [:]
    private var requests: [JobName: [Request]] = [:]
    /// How many requests wait for jobs of a project.
    private var counts: [String: Int] = [:]

    public init() {}

    var count: Int { entries.count }

    /// The projects of which results are awaited.
    public var projects: some Sequence<String> & Sendable { counts.keys.map { $0 } }

    /// Whether a request waits for a job.
    public func isAwaited(project: String, job: String) -> Bool {
        requests[JobName(project: project, job: job)] != nil
    }

    /// Whether a request waits for a job of a project.
    public func isAwaited(project: String) -> Bool { counts[project] != nil }

    /// The requests that wait for a job.
    public func requests(project: String, job: String) -> [Request] {
        requests[JobName(project: project, job: job)] ?? []
    }

    /// The place of a request that waits, and whether its job is in Redis; nil for every other request.
    public func place(of request: Request) -> (place: Place, isPushed: Bool)? {
        entries[request].map { ($0.place, $0.isPushed) }
    }

    public mutating func handle(_ event: Event, into actions: inout [Action]) {
        switch event {
        case .wait(let request, let place, let deadlineNs, let isPushed):
            add(request, place, deadlineNs, isPushed)
        case .pushed(let project, let job, let now):
            for request in requests(project: project, job: job) {
                entries[request]?.isPushed = true
                if let entry = entries[request], entry.deadlineNs <= now { answer(request, &actions) }
            }
        case .results(let project, let job, let results):
            for request in requests[JobName(project: project, job: job)] ?? [] { give(results, to: request, &actions) }
        case .rejected(let project, let job, let problem):
            for request in requests[JobName(project: project, job: job)] ?? [] {
                if let entry = remove(request) { actions.append(.reject(request, entry.place, problem: problem)) }
            }
        case .left(let request): _ = remove(request)
        case .passed(let now):
            let due = entries.filter { $0.value.isPushed && $0.value.deadlineNs <= now }.sorted {
                $0.value.deadlineNs < $1.value.deadlineNs
            }
            for (request, _) in due { answer(request, &actions) }
        }
    }

    /// With the results that it has.
    private mutating func answer(_ request: Request, _ actions: inout [Action]) {
        guard let entry = remove(request) else { return }
        actions.append(.answer(request, entry.place, entry.results.isEmpty ? entry.noResults : entry.results))
    }

    private mutating func add(_ request: Request, _ place: Place, _ deadlineNs: UInt64, _ isPushed: Bool) {
        precondition(entries[request] == nil, "a request waits once")
        let missing = place.indices.count
        entries[request] = Entry(
            place: place,
            missing: missing,
            deadlineNs: deadlineNs,
            isPushed: isPushed
        )
        requests[JobName(project: place.project, job: place.job), default: []].append(request)
        counts[place.project, default: 0] += 1
    }

    /// A result that came before replaces nothing: it is read again after a lost connection.
    private mutating func give(
        _ results: [(index: Int64, result: ServedResult)],
        to request: Request,
        _ actions: inout [Action]
    ) {
        guard var entry = entries.removeValue(forKey: request) else { return }
        if entry.results.isEmpty { entry.results = entry.noResults }
        for (index, result) in results where entry.place.indices.contains(index) {
            let at = Int(index - entry.place.indices.lowerBound)
            if entry.results[at] == nil {
                entry.results[at] = result
                entry.missing -= 1
            }
        }
        let isComplete = entry.missing == 0
        entries[request] = entry
        if isComplete { answer(request, &actions) }
    }

    private mutating func remove(_ request: Request) -> Entry? {
        guard let entry = entries.removeValue(forKey: request) else { return nil }
        let name = JobName(project: entry.place.project, job: entry.place.job)
        requests[name]?.removeAll { $0 == request }
        if requests[name]?.isEmpty == true { requests[name] = nil }
        counts[entry.place.project, default: 1] -= 1
        if counts[entry.place.project] == 0 { counts[entry.place.project] = nil }
        return entry
    }
}
