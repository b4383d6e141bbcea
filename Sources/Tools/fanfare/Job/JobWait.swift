internal import ArgumentParser
internal import FanfareClient
internal import RedisTransport

/// Follows a job until it is over or parked.
struct JobWait {
    let session: ProjectSession
    let job: String

    /// An outage of Redis longer than this ends the wait.
    private static let outageLimit = Duration.seconds(60)
    /// After this long without a worker taking the job, the user gets a notice.
    private static let noticeDelay = Duration.seconds(10)

    /// Shows the job's progress and its end. Throws the exit code, unless every recipient was accepted by FCM.
    func follow(isJSON: Bool) async throws {
        let progress = try await watch()
        if isJSON {
            Console.json(JobRendering.json(progress, session.project))
        } else {
            Console.error(JobRendering.table(progress))
        }
        try check(progress)
    }

    /// Shows the job's progress and returns the last one.
    func watch() async throws -> JobProgress {
        var bar = ProgressBar()
        defer { bar.end() }
        return try await run({ bar.show($0) }, onNotice: { bar.printNotice($0) })
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
    ///   - onProgress: gets each progress that was read.
    ///   - onNotice: gets a sentence for the user, once when the job stops and once when no worker takes it.
    /// - Returns: the last progress: the job is over or parked.
    func run(_ onProgress: (JobProgress) -> Void, onNotice: (String) -> Void) async throws -> JobProgress {
        var last: JobProgress?
        var lost: ContinuousClock.Instant?
        var silentSince: ContinuousClock.Instant? = .now
        var stop: String?
        while true {
            do {
                if let progress = try await session.projectOperator.progress(of: job) {
                    last = progress
                    silentSince = nil
                    onProgress(progress)
                    if progress.status.isOver || progress.status.state == .parked { return progress }
                    if let new = progress.stop, new != stop {
                        let state = progress.status.state == .paused ? "is paused" : "is held"
                        onNotice("job \(job) \(state): \(new); still waiting")
                    }
                    stop = progress.stop
                } else if let last {
                    throw FanfareClientError(
                        .noSuchJob,
                        "job \(job) is no longer kept; its last known state was \(last.status.state)"
                    )
                }
                lost = nil
                if let since = silentSince, since.duration(to: .now) > Self.noticeDelay {
                    silentSince = nil
                    onNotice("no worker has taken job \(job) yet; is one running for its project?")
                }
            } catch let error as RedisError where error.isTransient {
                let since = lost ?? .now
                lost = since
                if since.duration(to: .now) > Self.outageLimit { throw error }
            }
            try await Task.sleep(for: .milliseconds(last == nil ? 50 : 200))
        }
    }
}
