internal import FanfareClient
internal import FanfareHTTP
internal import FanfareJSON
internal import FanfareModel
internal import StreamWire

/// A list of the page of the fleet's jobs.
enum JobTab: String, CaseIterable {
    case open, running, needing, paused, scheduled, over, all

    fileprivate var states: Set<JobStatus.State>? {
        switch self {
        case .running: [.active, .retrying, .waiting]
        case .needing: [.parked, .paused]
        case .paused: [.paused]
        case .scheduled: [.scheduled]
        case .over: [.done, .cancelled, .expired, .rejected]
        case .open, .all: nil
        }
    }

    /// Of paused jobs, the ones that an operator paused need no other decision than to be resumed.
    fileprivate func fits(_ job: JobStatus) -> Bool {
        guard self == .needing, job.state == .paused else { return true }
        return !job.isPausedByOperator && !job.isAtTimedCanary
    }
}

/// The jobs of all projects: the list, and changes of several at once.
extension DashboardRoutes {
    /// One change asks for at most this many jobs.
    static var maximumChanged: Int { 500 }
    private static var maximumText: Int { 128 }
    /// Jobs without a worker that a search shows, about.
    private static var maximumPushed: Int { 100 }

    func listFleetJobs(_ query: [String: String]) async throws -> WebReply {
        guard let tab = JobTab(rawValue: query["tab"] ?? "open") else {
            return .error(400, "bad_tab", "tab: \(JobTab.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        let (project, after, text) = (query["project"], query["after"], query["find"] ?? "")
        guard [project, after].allSatisfy({ $0.map(ProjectID.isValid) ?? true }) else { return Self.badID }
        guard text.utf8.count <= Self.maximumText else {
            return .error(400, "bad_text", "find: at most \(Self.maximumText) characters.")
        }
        var filter = JobFilter(states: tab.states, text: text, includesOver: tab == .all)
        if let state = query["state"].map({ JobStatus.State(rawValue: $0) }) {
            filter.states = filter.states.map { $0.intersection([state]) } ?? [state]
        }
        let names = try await projects(project)
        let page = try await FleetJobs(redis: redis, prefix: options.prefix).page(
            filter,
            projects: names,
            after: after,
            fits: { tab.fits($0) }
        )
        var object: JSONObject = [
            "jobs": .array(page.rows.map { .object(Self.object($0.progress, $0.project)) }),
            "cut": .array(page.cut.map { .string($0) }),
        ]
        object["next"] = page.next.map { .string($0) }
        if !text.isEmpty, query["state"] == nil, tab == .open || tab == .all {
            let shown = names.filter { $0 > after ?? "" && $0 <= page.next ?? $0 }
            object["pushed"] = .array(try await pushedJobs(text, in: shown))
        }
        return .json(object)
    }

    /// Jobs that no worker has taken and whose id contains a text.
    private func pushedJobs(_ text: String, in names: [String]) async throws -> [JSONValue] {
        var bytes = PushedJobSearch.maximumBytes
        var found: [JSONValue] = []
        for name in names where bytes > 0 && found.count < Self.maximumPushed {
            let keys = ProjectKeys(prefix: options.prefix, project: name)
            // A key of the wrong type hides no other project.
            let jobs = (try? await PushedJobSearch.matching(text, redis, keys, bytes: &bytes)) ?? []
            found += jobs.map { job in
                var object: JSONObject = ["project": .string(name), "id": .string(job.id)]
                object["pushed_ms"] = StreamEntry.milliseconds(ofID: job.entry).map { .number(JSONNumber($0)) }
                return .object(object)
            }
        }
        return found
    }

    /// Changes the jobs that the body names, one after the other; the reply says which changes failed.
    func changeJobs(_ action: String, _ change: Change) async throws -> WebReply? {
        guard ["pause", "resume", "cancel"].contains(action) else { return nil }
        let jobs = change.body["jobs"]?.array?.compactMap { job -> (project: String, id: String)? in
            guard let project = job.object?["project"]?.string, let id = job.object?["id"]?.string,
                ProjectID.isValid(project), Identifiers.isJob(id)
            else { return nil }
            return (project, id)
        }
        guard let jobs, jobs.count == change.body["jobs"]?.array?.count else { return Self.badID }
        guard (1...Self.maximumChanged).contains(jobs.count) else {
            return .error(400, "bad_count", "jobs: 1 to \(Self.maximumChanged) of them.")
        }
        var failed: [JSONValue] = []
        for job in jobs {
            let message: String?
            do {
                message = try await changeJob(action, job.id, in: job.project, change)?.errorMessage
            } catch {
                message = explain(error)
            }
            guard let message else { continue }
            failed.append(
                .object(["project": .string(job.project), "id": .string(job.id), "message": .string(message)])
            )
        }
        let done = jobs.count - failed.count
        return .json(["done": .number(JSONNumber(Int64(done))), "failed": .array(failed)])
    }
}

extension WebReply {
    /// The message of an error; nil for any other reply.
    fileprivate var errorMessage: String? {
        guard status >= 400 else { return nil }
        return (try? JSONParser.parse(bytes, limits: JSONLimits()))?.object?["message"]?.string ?? "refused"
    }
}
