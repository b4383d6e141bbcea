extension FunctionLibrary {
    /// Copies `step` members of a SET audience to the job's private list; a new run of the server starts over.
    public static func copy(_ keys: ProjectKeys, job: String, runID: String, step: Int) -> RedisCommand {
        call("copy", keys, ["id": job, "run_id": runID, "step_size": String(step)])
    }
}

public enum CopyReply: String, Equatable, Sendable {
    case more
    case complete
    /// The job is over, or its audience is copied already.
    case gone
    /// The audience cannot be copied: the job needs an operator.
    case parked

    public init?(_ value: RedisValue) {
        self.init(rawValue: NamedValues(value)?.outcome ?? "")
    }
}
