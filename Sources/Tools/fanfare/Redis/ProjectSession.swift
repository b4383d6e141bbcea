internal import FanfareClient
internal import FanfareJSON
internal import RedisTransport
internal import StreamWire

/// The Redis connection of a command on one project.
struct ProjectSession {
    let client: RedisClient
    let project: String
    let prefix: String

    var projectOperator: FanfareOperator<RedisClient> {
        FanfareOperator(redis: client, project: project, prefix: prefix)
    }

    var producer: FanfareProducer<RedisClient> {
        FanfareProducer(redis: client, project: project, prefix: prefix)
    }

    // MARK: Pushing

    /// Pushes a job and prints its id.
    /// - Parameters:
    ///   - waits: also follows the job to its end.
    ///   - isJSON: prints JSON: the id, or the finished job.
    /// - Throws: the exit code for failure.
    func push(_ job: PushJob, waits: Bool, isJSON: Bool) async throws {
        let id = try await push(job)
        guard waits else { return printID(id, isJSON: isJSON) }
        if !isJSON { Console.line(id) }
        try await JobWait(session: self, job: id).follow(isJSON: isJSON)
    }

    func printID(_ id: String, isJSON: Bool) {
        Console.result(id, ["id": .string(id), "project": .string(project)], isJSON: isJSON)
    }

    /// Pushes a job and returns its id.
    func push(_ job: PushJob) async throws -> String {
        // The register only serves operators, so a user that may not write it may still push.
        _ = try? await client.send(RedisCommand("SADD", ProjectKeys.projects(prefix: prefix), project))
        do {
            return try await producer.push(job)
        } catch let error as RedisError where error.maybeApplied {
            let advice =
                job.id == nil ? "without --id, pushing again may send twice" : "its --id makes it safe to push again"
            throw Outcome.unavailable.because("the job may have been pushed or not (\(error)); \(advice)")
        }
    }
}
