internal import ArgumentParser
internal import FanfareClient
internal import FanfareModel
internal import FanfareRedis

/// Options of every job.
struct GeneralJobOptions: ParsableArguments {
    @Option(help: .value("id", "Your own id. A job pushed again with it within the dedupe window is not sent again."))
    var id: String?

    @Option(
        help: .value("time", "Start at \(TimeArgument.forms)."),
        transform: GeneralJobOptions.time
    )
    var at: TimeArgument?

    @Option(
        help: .value("time", "Give up unsent recipients at this time; forms as for --at."),
        transform: GeneralJobOptions.time
    )
    var expiresAt: TimeArgument?

    @Option(help: .value("n", "0 to 9, higher first. Default: 5."))
    var priority: Int?

    @Option(
        help: .value("which", "Which results are written: all, failures or none."),
        completion: Self.policies.completion,
        transform: Self.policies.value
    )
    var results: ResultsPolicy?

    private static let policies = Words(list: ["all", "failures", "none"])

    /// Refuses what a worker would reject, while the user is still present.
    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        if let id { try Self.check(id: id) }
        if let priority, !(0...9).contains(priority) { throw ValidationError("--priority: 0 to 9") }
    }

    static func check(id: String) throws {
        guard Identifiers.isJob(id) else {
            throw ValidationError("--id: 1 to 128 of A-Z a-z 0-9 . _ : -")
        }
    }

    /// - Parameter checks: refuses a job that has expired.
    func apply(to job: inout PushJob, _ client: RedisClient, checks: Bool) async throws {
        job.id = id
        job.priority = priority
        job.results = results ?? .unsaid
        guard at != nil || expiresAt != nil else { return }
        let now = try await client.nowMs()
        job.notBefore = at?.milliseconds(nowMs: now)
        job.expiresAt = expiresAt?.milliseconds(nowMs: now)
        guard checks, let end = job.expiresAt, end <= now else { return }
        let time = CalendarTime(unixMs: end).rfc3339
        throw Outcome.usage.because("expires_at: \(time) is past, so every recipient would expire; nothing was pushed")
    }

    private static func time(_ text: String) throws -> TimeArgument {
        guard let time = TimeArgument(text) else {
            let advice = Job.unitAdvice(text.utf8).map { "; \($0)" } ?? ""
            throw ValidationError("must be \(TimeArgument.forms)\(advice)")
        }
        return time
    }
}
