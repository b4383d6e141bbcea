internal import FanfareModel
public import StreamWire

/// Stops, resumes and lists the jobs of one project, and clears its `dead` stream.
///
/// Each change is one atomic step in Redis that the whole fleet hears of within a second. All of them need the functions
/// that workers load at their start (`fanfare functions load`).
public struct FanfareOperator<Redis: RedisSending>: Sendable {
    public let keys: ProjectKeys
    let redis: Redis
    private let project: String
    private let prefix: String

    /// - Parameters:
    ///   - redis: a `RedisClient`, or whatever carries commands.
    ///   - project: `[a-z0-9][a-z0-9-]{0,62}`.
    ///   - prefix: what the workers' configuration says.
    public init(redis: Redis, project: String, prefix: String = "fanfare") {
        self.redis = redis
        self.project = project
        self.prefix = prefix
        keys = ProjectKeys(prefix: prefix, project: project)
    }

    /// The ids of all projects that a worker or the command line has seen, in order.
    public static func projects(redis: Redis, prefix: String = "fanfare") async throws -> [String] {
        let reply = try await redis.reply(to: RedisCommand("SMEMBERS", ProjectKeys.projects(prefix: prefix)))
        // Whoever may write to Redis may have put anything there.
        return (reply.array ?? []).compactMap(\.string).filter(ProjectID.isValid).sorted()
    }

    /// Whether anybody has pushed to the project, or worked for it. Ask before a pause: one for a slip of the pen would
    /// stand in Redis for a project that nobody has.
    public func isKnown() async throws -> Bool {
        if try await Self.projects(redis: redis, prefix: prefix).contains(project) { return true }
        return try await redis.reply(to: RedisCommand("EXISTS", keys.jobs)).integer == 1
    }

    // MARK: One job

    /// Gives up every recipient that has no result yet: no new send begins later than a second after this.
    ///
    /// Workers then write the results, `cancelled`, or `unknown` for a recipient that may have been reached; the job is
    /// over when the last one is written. A job that no worker has taken yet is looked for among the entries of `jobs`, and
    /// ends when one takes it. Safe to repeat.
    public func cancel(_ job: String) async throws -> JobControlReply {
        let reply = try await cancelTaken(job)
        // Of a rejected job nothing is left, and its id may have been pushed again.
        guard reply == .missing || reply == .over(state: JobStatus.State.rejected.rawValue) else { return reply }
        var behind: String?
        while true {
            let command = FunctionLibrary.cancelEntry(keys, job: job, behind: behind)
            switch try answer(EntryCancelReply(await redis.reply(to: command)), "cancel_entry") {
            case .found: return .ok(state: JobStatus.State.waiting.rawValue)
            case .more(let entry): behind = entry
            // It may have been taken while it was looked for.
            case .missing: return try await cancelTaken(job)
            }
        }
    }

    private func cancelTaken(_ job: String) async throws -> JobControlReply {
        try answer(JobControlReply(await redis.reply(to: FunctionLibrary.cancel(keys, job: job))), "cancel")
    }

    /// Holds every recipient that has no result yet until ``resume(_:)``. Its `expires_at` goes on counting. Safe to repeat.
    public func pause(_ job: String) async throws -> JobControlReply {
        try answer(JobControlReply(await redis.reply(to: FunctionLibrary.pause(keys, job: job))), "pause")
    }

    /// Lets a paused job go on where it was; a fan-out takes its old place in the queue. Safe to repeat.
    public func resume(_ job: String) async throws -> JobControlReply {
        try answer(JobControlReply(await redis.reply(to: FunctionLibrary.resume(keys, job: job))), "resume")
    }

    // MARK: The project

    /// Nothing of the project is sent until ``resumeProject()``; jobs can still be pushed.
    /// - Parameter reason: shown to whoever asks why nothing moves.
    public func pauseProject(reason: String = "") async throws {
        try done(await redis.reply(to: FunctionLibrary.pauseProject(keys, reason: reason)), "pause_project")
    }

    /// Lifts a pause; and if the project is blocked, such as by refused credentials, has it probed at once.
    public func resumeProject() async throws {
        try done(await redis.reply(to: FunctionLibrary.resumeProject(keys)), "resume_project")
    }

    /// What the project is doing at this moment.
    public func overview() async throws -> OverviewReply {
        try answer(OverviewReply(await redis.reply(to: FunctionLibrary.overview(keys))), "overview")
    }

    // MARK: Answers

    func answer<Reply>(_ reply: Reply?, _ function: String) throws -> Reply {
        guard let reply else { throw FanfareClientError(.unexpectedReply, "\(function) gave an unknown answer") }
        return reply
    }

    private func done(_ value: RedisValue, _ function: String) throws {
        guard value.array?.first?.string == "ok" else {
            throw FanfareClientError(.unexpectedReply, "\(function) gave an unknown answer")
        }
    }
}
