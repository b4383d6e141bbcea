internal import FanfareModel
internal import StreamWire

/// Everything that is kept about one job.
public struct JobDetails: Equatable, Sendable {
    /// Who the job is for.
    public struct Target: Equatable, Sendable {
        /// `token`, `fid`, `topic`, `condition` or `group`.
        public var kind: String
        /// The topic or condition; nil for other kinds.
        public var name: String?
        /// Recipients: 1 for a topic, a condition and a group.
        public var count: Int64
    }

    public var progress: JobProgress
    /// The failed recipients by error, most first. A worker of an older version counts none.
    public var errors: [JobError]
    public var target: Target
    /// `send`, or the operation of a job without a message.
    public var operation: String
    /// 0 to 9, higher first.
    public var priority: Int
    /// Unix milliseconds; nil if the job was not scheduled.
    public var notBeforeMs: Int64?
    /// Unix milliseconds; nil if the job does not expire.
    public var expiresAtMs: Int64?
    /// The message as the producer gave it, JSON; nil once the job is over.
    public var message: [UInt8]?
    public var validateOnly: Bool
    /// `at_least_once`, `at_most_once` or `replace`.
    public var delivery: String
    /// `all`, `failures` or `none`.
    public var resultsPolicy: String
}

/// The failed recipients of a job with one error.
public struct JobError: Equatable, Sendable {
    /// An error of the page Results, such as `UNREGISTERED`.
    public var error: String
    /// What the producer should do: `remove`, `replace`, `fix_message`, `fix_credentials` or `none`.
    public var action: String
    public var count: Int64

    public init(error: String, action: String, count: Int64) {
        self.error = error
        self.action = action
        self.count = count
    }
}

extension FanfareOperator {
    /// The details of a job; nil while no worker has taken it, and when it is no longer kept.
    public func details(of job: String) async throws -> JobDetails? {
        guard let progress = try await progress(of: job) else { return nil }
        let fields = NamedValues(try await redis.reply(to: RedisCommand("HGETALL", keys.job(job))))
        // A user that may not read private keys sees what the hash shows.
        let spec = progress.status.isOver ? nil : try? await redis.reply(to: JobInquiry.spec(keys, job: job)).array
        return JobDetails(progress: progress, fields: fields, spec: spec ?? [])
    }
}

extension JobDetails {
    /// - Parameters:
    ///   - fields: the job's hash, which shows what is not the default.
    ///   - spec: the reply to ``JobInquiry/spec(_:job:)``; a job that an older worker has taken shows nothing else.
    init(progress: JobProgress, fields: NamedValues?, spec: [RedisValue]) {
        func text(_ name: String, _ place: Int) -> String? {
            fields?.text(name) ?? (spec.indices.contains(place) ? spec[place].string : nil)
        }
        func time(_ text: String?) -> Int64? {
            text.flatMap { Int64($0) }.flatMap { (1...99_999_999_999_999).contains($0) ? $0 : nil }
        }
        self.progress = progress
        errors = progress.status.errors
        let kind = text("kind", 1).flatMap(JobSpec.kind)?.rawValue
        target = Target(kind: kind ?? "token", name: fields?.text("target"), count: progress.status.total)
        operation = text("op", 2) ?? "send"
        priority = text("priority", 3).flatMap { Int($0) }.flatMap { (0...9).contains($0) ? $0 : nil } ?? 5
        notBeforeMs = progress.status.notBeforeMs
        expiresAtMs = time(text("expires_at", 7))
        message = spec.first?.bytes
        validateOnly = text("validate_only", 6) == "1"
        delivery = text("delivery", 4) ?? "at_least_once"
        resultsPolicy = text("results", 5) ?? (progress.status.total > 1_000 ? "failures" : "all")
    }
}
