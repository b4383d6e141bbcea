internal import ArgumentParser
internal import FanfareClient
internal import RedisTransport

/// Follows one job until nothing more happens to it by itself.
struct JobWait {
    let producer: FanfareProducer<RedisClient>
    let job: String

    /// Redis may be away this long without the wait being given up.
    private static let patience = Duration.seconds(60)
    /// After this long without a sign of the job, the user is told what is missing.
    private static let silence = Duration.seconds(10)

    /// - Parameter show: gets every state that was read.
    /// - Returns: the last state; `parked` is one, though a person can resume such a job.
    func run(_ show: (JobStatus) -> Void) async throws -> JobStatus {
        var last: JobStatus?
        var lost: ContinuousClock.Instant?
        var silentSince: ContinuousClock.Instant? = .now
        while true {
            do {
                if let status = try await producer.status(of: job) {
                    last = status
                    silentSince = nil
                    show(status)
                    if status.isOver || status.state == .parked { return status }
                } else if let last {
                    throw Outcome.failed.because("job \(job) is no longer kept; it was last seen \(last.state)")
                }
                lost = nil
                if let since = silentSince, since.duration(to: .now) > Self.silence {
                    silentSince = nil
                    Console.error("fanfare: no worker has taken job \(job) yet; is one running for its project?")
                }
            } catch let error as RedisError where error.isTransient {
                let since = lost ?? .now
                lost = since
                if since.duration(to: .now) > Self.patience { throw error }
            }
            try await Task.sleep(for: .milliseconds(last == nil ? 50 : 200))
        }
    }
}
