/// What an operator does to jobs and projects. Each function's contract and answers stand above it in the library.
extension FunctionLibrary {
    /// Ends every recipient of a job that has no result yet as `cancelled`.
    public static func cancel(_ keys: ProjectKeys, job: String) -> RedisCommand { call("cancel", keys, [job]) }

    /// The same for a job that no worker has taken yet: an entry of `jobs`, known by its own id or by the producer's.
    ///
    /// - Parameter entry: entries up to this one have been looked at; nil for none.
    public static func cancelEntry(_ keys: ProjectKeys, job: String, behind entry: String? = nil) -> RedisCommand {
        call("cancel_entry", keys, [job, entry ?? "-"])
    }

    /// Nothing of the job is sent until it is resumed; a fan-out gives up its slot.
    public static func pause(_ keys: ProjectKeys, job: String) -> RedisCommand { call("pause", keys, [job]) }

    public static func resume(_ keys: ProjectKeys, job: String) -> RedisCommand { call("resume", keys, [job]) }

    /// Nothing of the project is sent until it is resumed.
    public static func pauseProject(_ keys: ProjectKeys, reason: String) -> RedisCommand {
        call("pause_project", keys, [reason])
    }

    /// Lifts an operator's pause, and lets a blocked project be probed at once.
    public static func resumeProject(_ keys: ProjectKeys) -> RedisCommand { call("resume_project", keys) }

    /// A flat map of what the project is doing; writes nothing.
    public static func overview(_ keys: ProjectKeys) -> RedisCommand { call("overview", keys) }

    /// What ``overview(_:)`` gives, with the jobs, the workers and the counts that people look at; writes nothing.
    ///
    /// - Parameter most: jobs of each list at most.
    public static func fleet(_ keys: ProjectKeys, most: Int) -> RedisCommand { call("fleet", keys, [String(most)]) }

    /// A parked job goes on with its unfinished recipients; a rejected entry is pushed again as it was.
    public static func replay(_ keys: ProjectKeys, entryID: String) -> RedisCommand { call("replay", keys, [entryID]) }

    /// Takes an entry out of `dead`; what a parked job has left is cancelled.
    public static func drop(_ keys: ProjectKeys, entryID: String) -> RedisCommand { call("drop", keys, [entryID]) }
}
