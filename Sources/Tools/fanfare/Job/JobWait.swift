internal import ArgumentParser
internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel
internal import FanfareRedis

/// Follows a job until it is over or parked.
struct JobWait {
    let session: ProjectSession
    let job: String
    /// Whether a status is of the awaited job; one of an earlier job with the same id is passed over.
    var isAwaited: (JobStatus) -> Bool = { _ in true }
    /// Whether the user was told why no worker may take the job.
    var isWarned = false

    /// An outage of Redis longer than this ends the wait.
    private static let absenceLimit = Duration.seconds(60)

    /// Shows the job's progress and its end. Throws the exit code, unless every recipient was accepted by FCM.
    func follow(isJSON: Bool) async throws {
        try await finish(try await watch(), isJSON: isJSON)
    }

    /// Prints the end of the job, with `more` in its JSON. Throws the exit code, unless every recipient was accepted by
    /// FCM.
    func finish(_ progress: JobProgress, isJSON: Bool, more: [JSONObject.Member] = []) async throws {
        if isJSON {
            Console.json(JSONObject(FleetJSON.object(progress, in: session.project).members + more))
        } else {
            let details = try? await session.projectOperator.details(of: job)
            Console.error(details.map { JobRendering.table($0) } ?? JobRendering.table(progress))
        }
        try check(progress)
    }

    /// Shows the job's progress and returns the last one.
    func watch() async throws -> JobProgress {
        var bar = ProgressBar()
        defer { bar.end() }
        return try await run({ bar.show($0, nextRetryMs: $1) }, onNotice: { bar.printNotice($0) })
    }

    /// Throws the exit code, unless every recipient was accepted by FCM.
    func check(_ progress: JobProgress) throws {
        if progress.status.state == .parked { throw JobArguments.parked(job, session.project) }
        if let end = Self.shortfall(progress.status) { throw Outcome.failed.because(end) }
    }

    /// The shortfall of a finished job, as a sentence; nil if FCM accepted every recipient.
    static func shortfall(_ status: JobStatus) -> String? {
        if status.isSuccess { return nil }
        if status.state == .rejected { return "job \(status.id) was rejected; nothing was sent" }
        let failures = ["failed", "unknown", "cancelled", "expired"]
        let counts = status.counters.filter { $0.count > 0 && failures.contains($0.name) }
            .map { "\($0.count) \($0.name)" }.joined(separator: ", ")
        return "job \(status.id) ended as \(status.state), \(status.sent) of \(status.total) sent"
            + (counts.isEmpty ? "" : ": \(counts); `fanfare job results \(status.id) --failed` lists them")
    }

    /// - Parameters:
    ///   - onProgress: gets each progress that was read, and when the next retry is due, Unix milliseconds.
    ///   - onNotice: gets a sentence for the user, when the job stops or its window closes, and once when no worker takes it.
    /// - Returns: the last progress: the job is over or parked.
    func run(_ onProgress: (JobProgress, Int64?) -> Void, onNotice: (String) -> Void) async throws -> JobProgress {
        var last: JobProgress?
        var lost: ContinuousClock.Instant?
        var untaken = UntakenNotice()
        var stop: String?
        while true {
            do {
                if let progress = try await session.projectOperator.progress(of: job), isAwaited(progress.status) {
                    last = progress
                    onProgress(progress, await nextRetry(progress))
                    if progress.status.isOver || progress.status.state == .parked { return progress }
                    let held = progress.stop ?? progress.status.closedWindow
                    if let new = held, new != stop {
                        let state = progress.status.state == .paused ? "is paused" : "is held"
                        let isRefused = new.hasPrefix("message refused: ")
                        let isGuarded = progress.status.state == .paused && !progress.status.guards.isEmpty
                        let remedy = isGuarded || isRefused ? "; `fanfare job resume \(job)` continues it" : ""
                        onNotice("job \(job) \(state): \(new); still waiting\(remedy)")
                    }
                    stop = held
                } else if let last {
                    throw FanfareClientError(
                        .noSuchJob,
                        "job \(job) is no longer kept; its last known state was \(last.status.state)"
                    )
                } else if !isWarned, let notice = await untaken.notice(job, session) {
                    onNotice(notice)
                }
                lost = nil
            } catch let error as RedisError where error.isTransient {
                let since = lost ?? .now
                lost = since
                if since.duration(to: .now) > Self.absenceLimit { throw error }
            }
            try await Task.sleep(for: .milliseconds(last == nil ? 50 : 200))
        }
    }

    /// When the next retry of a job is due whose first pass is over; nil if unknown.
    func nextRetry(_ progress: JobProgress) async -> Int64? {
        let status = progress.status
        guard !status.isOver, status.retrying > 0, status.firstPassMs != nil || status.state == .retrying else {
            return nil
        }
        return try? await session.projectOperator.nextRetryMs(of: job)
    }

    /// Decides when to say that no worker takes a job: once, soon if no worker is alive, else after a while.
    private struct UntakenNotice {
        private static let first = Duration.seconds(1)
        private static let last = Duration.seconds(10)

        private let start = ContinuousClock.now
        private var isDone = false
        private var isAsked = false

        mutating func notice(_ job: String, _ session: ProjectSession) async -> String? {
            let waited = start.duration(to: .now)
            guard !isDone, waited > Self.first else { return nil }
            if !isAsked {
                isAsked = true
                if await !session.isServed() {
                    isDone = true
                    return "no worker serves project \(session.project): job \(job) waits until one is started"
                }
            }
            guard waited > Self.last else { return nil }
            isDone = true
            return "no worker has taken job \(job) yet, though one serves project \(session.project)"
        }
    }
}
