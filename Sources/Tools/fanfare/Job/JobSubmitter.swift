internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel
internal import RedisTransport
internal import StreamWire

/// Pushes jobs of a project and follows them, for the commands that create jobs.
struct JobSubmitter {
    let client: RedisClient
    let project: String
    let prefix: String

    var producer: FanfareProducer<RedisClient> {
        FanfareProducer(redis: client, project: project, prefix: prefix)
    }

    /// Pushes a job and prints its id.
    /// - Parameters:
    ///   - waits: also follows the job to its end.
    ///   - isJSON: prints JSON: the id, or the finished job.
    /// - Throws: the exit code for failure.
    func push(_ job: PushJob, waits: Bool, isJSON: Bool) async throws {
        let id = try await push(job)
        guard waits else { return printID(id, isJSON: isJSON) }
        if !isJSON { Console.line(id) }
        try await wait(id).follow(isJSON: isJSON)
    }

    func printID(_ id: String, isJSON: Bool) {
        Console.line(isJSON ? JSONValue.object(["id": .string(id), "project": .string(project)]).jsonText : id)
    }

    func wait(_ id: String) -> JobWait {
        JobWait(projectOperator: FanfareOperator(redis: client, project: project, prefix: prefix), job: id)
    }

    /// Pushes a job.
    /// - Returns: the job's id.
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
