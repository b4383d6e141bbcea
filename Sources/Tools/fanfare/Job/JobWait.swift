internal import ArgumentParser
internal import FanfareClient
internal import RedisTransport
internal import StreamWire

/// Follows one job until nothing more happens to it by itself.
struct JobWait {
    let projectOperator: FanfareOperator<RedisClient>
    let job: String

    /// Redis may be away this long without the wait being given up.
    private static let outageLimit = Duration.seconds(60)
    /// After this long without a sign of the job, the user is told what is missing.
    private static let noticeDelay = Duration.seconds(10)

    /// Shows the job's way and its end.
    /// - Throws: the exit code, unless every recipient was accepted by FCM.
    func follow(isJSON: Bool) async throws {
        let progress = try await watch()
        if isJSON {
            Console.line(JobRendering.json(progress, projectOperator.keys.project))
        } else {
            Console.error(JobRendering.table(progress))
        }
        try check(progress)
    }

    /// Shows the job's way.
    /// - Returns: the last state.
    func watch() async throws -> JobProgress {
        var bar = ProgressBar()
        let progress: JobProgress
        do {
            progress = try await run({ bar.show($0) }, onNotice: { bar.printNotice($0) })
        } catch {
            bar.end()
            throw error
        }
        bar.end()
        return progress
    }

    /// - Throws: the exit code, unless every recipient was accepted by FCM.
    func check(_ progress: JobProgress) throws {
        if progress.status.state == .parked {
            throw Outcome.failed.because(JobControlReport.parked(job, projectOperator.keys.project))
        }
        if let end = Self.shortfall(progress.status) { throw Outcome.failed.because(end) }
    }

    /// How a job that is over fell short; nil when every recipient was accepted.
    static func shortfall(_ status: JobStatus) -> String? {
        if status.isSuccess { return nil }
        if status.state == .rejected { return "job \(status.id) was rejected; nothing was sent" }
        let parts = [
            ("failed", status.failed), ("unknown", status.unknown), ("cancelled", status.cancelled),
            ("expired", status.expired),
        ]
        let counts = parts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
        return "job \(status.id) ended as \(status.state), \(status.sent) of \(status.total) sent"
            + (counts.isEmpty ? "" : ": \(counts); `fanfare job results \(status.id) --failed` names them")
    }

    /// - Parameters:
    ///   - onProgress: gets every state that was read.
    ///   - onNotice: gets a sentence for the user when the job stops or nobody takes it, once each.
    /// - Returns: the last state; `parked` is one, though a person can resume such a job.
    func run(_ onProgress: (JobProgress) -> Void, onNotice: (String) -> Void) async throws -> JobProgress {
        var last: JobProgress?
        var lost: ContinuousClock.Instant?
        var silentSince: ContinuousClock.Instant? = .now
        var stop: String?
        while true {
            do {
                if let progress = try await projectOperator.progress(of: job) {
                    last = progress
                    silentSince = nil
                    onProgress(progress)
                    if progress.status.isOver || progress.status.state == .parked { return progress }
                    if let new = progress.stop, new != stop { onNotice(Self.stopNotice(new, progress)) }
                    stop = progress.stop
                } else if let last {
                    throw FanfareClientError(
                        .noSuchJob,
                        "job \(job) is no longer kept; it was last seen \(last.status.state)"
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

    static func stopNotice(_ stop: String, _ progress: JobProgress) -> String {
        let state = progress.status.state == .paused ? "is paused" : "is held"
        return "job \(progress.status.id) \(state): \(stop); waiting goes on"
    }
}
