extension FunctionLibrary {
    /// Copies so many members of a SET audience to the job's private list. Answers a ``CopyReply``.
    ///
    /// - Parameter runID: the server's: a cursor means nothing to another run of it.
    public static func copy(_ keys: ProjectKeys, job: String, runID: String, step: Int) -> RedisCommand {
        call("copy", keys, ["id": job, "run_id": runID, "step_size": String(step)])
    }
}

public enum CopyReply: String, Equatable, Sendable {
    /// The copy goes on with the next call.
    case more
    case complete
    /// The job is over, or its audience is copied already.
    case gone
    /// The audience cannot be copied: the job needs a person.
    case parked

    public init?(_ value: RedisValue) {
        guard let outcome = FunctionReply(value)?.outcome else { return nil }
        self.init(rawValue: outcome)
    }
}
