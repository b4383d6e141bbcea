internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel
internal import RedisTransport
internal import StreamWire

/// Pushes a project's jobs and follows them, for the commands that make one.
struct JobSubmitter {
    let client: RedisClient
    let project: String
    let prefix: String

    var producer: FanfareProducer<RedisClient> {
        FanfareProducer(redis: client, project: project, prefix: prefix)
    }

    /// Pushes a job and prints its id.
    /// - Parameters:
    ///   - waits: also follows it to its end.
    ///   - isJSON: prints JSON instead: the id, or the job as it ended.
    /// - Throws: the exit code, if it did not go well.
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

    /// - Returns: the job's id.
    func push(_ job: PushJob) async throws -> String {
        // A register for people only; a producer whose user may not write it still may push.
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
