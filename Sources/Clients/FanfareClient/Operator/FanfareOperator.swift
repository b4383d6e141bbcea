internal import FanfareModel
public import StreamWire

/// Pauses, resumes, cancels and lists the jobs of a project, and clears its `dead` stream.
///
/// Each change is one atomic step in Redis, which all workers learn within a second. It needs the functions that workers
/// load.
public struct FanfareOperator<Redis: RedisSending>: Sendable {
    public let keys: ProjectKeys
    let redis: Redis
    private let name: String
    let project: String
    let prefix: String

    /// - Parameters:
    ///   - project: `[a-z0-9][a-z0-9-]{0,62}`.
    ///   - prefix: as in the workers' configuration.
    ///   - actor: who acts, as ``audit(limit:)`` shows it: for example `user@host`.
    public init(redis: Redis, project: String, prefix: String = "fanfare", actor: String = "") {
        self.redis = redis
        name = actor
        self.project = project
        self.prefix = prefix
        keys = ProjectKeys(prefix: prefix, project: project)
    }

    /// The ids of all projects that a worker or the command line has registered, and of `configured` ones, sorted.
    public static func projects(
        redis: Redis,
        prefix: String = "fanfare",
        including configured: [String] = []
    ) async throws -> [String] {
        let reply = try await redis.reply(to: RedisCommand("SMEMBERS", ProjectKeys.projects(prefix: prefix)))
        // Others may have written anything there.
        let registered = (reply.array ?? []).compactMap(\.string).filter(ProjectID.isValid)
        return Set(registered + configured).sorted()
    }

    /// Whether a job was pushed to the project or a worker has served it: a misspelt id would keep a pause in Redis.
    public func isKnown() async throws -> Bool {
        if try await Self.projects(redis: redis, prefix: prefix).contains(project) { return true }
        return try await redis.reply(to: RedisCommand("EXISTS", keys.jobs)).integer == 1
    }

    /// Cancels every recipient that has no result yet. Within a second no worker starts a new send. Idempotent.
    ///
    /// Workers then write the results: `cancelled`, or `unknown` for a recipient that may have been reached. A job that
    /// no worker has taken yet ends when a worker takes it.
    public func cancel(_ job: String, reason: String = "") async throws -> JobControlReply {
        let actor = actor(reason)
        let (reply, wasEnding) = try await cancelTaken(job, actor)
        switch reply {
        // The id of a job that is over, or was ending before, may have been pushed again.
        case .missing, .over: break
        case .ok where wasEnding: break
        case .ok, .parked: return reply
        }
        var behind: String?
        var isFound = false
        while true {
            let command = FunctionLibrary.cancelEntry(keys, job: job, behind: behind, by: actor)
            switch try answer(EntryCancelReply(await redis.reply(to: command)), "cancel_entry") {
            case .found(let entry?): (isFound, behind) = (true, entry)
            case .more(let entry): behind = entry
            case .found(nil): return .ok(state: JobStatus.State.waiting.rawValue)
            case .missing where isFound: return .ok(state: JobStatus.State.waiting.rawValue)
            // A worker may have taken it during the search.
            case .missing: return try await cancelTaken(job, actor).reply
            }
        }
    }

    private func cancelTaken(
        _ job: String,
        _ actor: Actor
    ) async throws -> (reply: JobControlReply, wasEnding: Bool) {
        let value = try await redis.reply(to: FunctionLibrary.cancel(keys, job: job, by: actor))
        return (try answer(JobControlReply(value), "cancel"), NamedValues(value)?.flag("was_ending") ?? false)
    }

    /// Holds every recipient that has no result yet until ``resume(_:reason:)``. `expires_at` still applies. Idempotent.
    public func pause(_ job: String, reason: String = "", scope: PauseScope = .job) async throws -> JobControlReply {
        let command = FunctionLibrary.pause(keys, job: job, by: actor(reason), scope: scope)
        return try answer(JobControlReply(await redis.reply(to: command)), "pause")
    }

    /// What an operator paused when the job was paused; nil if it is not paused, or an earlier version paused it.
    public func pauseScope(of job: String) async throws -> PauseScope? {
        try await redis.reply(to: FunctionLibrary.pauseScope(keys, job: job)).string.flatMap(PauseScope.init)
    }

    /// Resumes a paused job where it stopped; a fan-out gets its old place in the queue. Idempotent.
    public func resume(_ job: String, reason: String = "") async throws -> JobControlReply {
        let command = FunctionLibrary.resume(keys, job: job, by: actor(reason))
        return try answer(JobControlReply(await redis.reply(to: command)), "resume")
    }

    /// Stops all sends of the project until ``resumeProject(reason:)``. Jobs can still be pushed.
    /// - Parameter reason: shown to operators.
    public func pauseProject(reason: String = "") async throws {
        try done(await redis.reply(to: FunctionLibrary.pauseProject(keys, reason: reason, by: name)), "pause_project")
    }

    /// Ends a pause. If the project is blocked, for example by refused credentials, it is retried at once.
    public func resumeProject(reason: String = "") async throws {
        try done(await redis.reply(to: FunctionLibrary.resumeProject(keys, by: actor(reason))), "resume_project")
    }

    public func overview() async throws -> OverviewReply {
        try answer(OverviewReply(await redis.reply(to: FunctionLibrary.overview(keys))), "overview")
    }

    /// Who acts and why, without control characters and in bounds.
    func actor(_ reason: String) -> Actor {
        func clean(_ text: String, _ most: Int) -> String {
            let scalars = text.unicodeScalars.prefix(most).map { $0.properties.generalCategory == .control ? " " : $0 }
            return String(String.UnicodeScalarView(scalars))
        }
        return Actor(clean(name, 128), reason: clean(reason, 500))
    }

    func answer<Reply>(_ reply: Reply?, _ function: String) throws -> Reply {
        guard let reply else {
            throw FanfareClientError(.unexpectedReply, "\(function) answered with an unknown reply")
        }
        return reply
    }

    private func done(_ value: RedisValue, _ function: String) throws {
        _ = try answer(NamedValues(value)?.outcome == "ok" ? () : nil, function)
    }
}
