/// Who calls an operator's function, and why, for the audit list.
public struct Actor: Equatable, Sendable {
    /// Empty if unknown.
    public var name: String
    public var reason: String

    public init(_ name: String = "", reason: String = "") {
        self.name = name
        self.reason = reason
    }

    /// Optional arguments of the call, which an older library ignores.
    fileprivate var words: [String] {
        (name.isEmpty ? [] : ["actor", name]) + (reason.isEmpty ? [] : ["reason", reason])
    }
}

/// What an operator paused when a job was paused. A job that an earlier version paused has none.
public enum PauseScope: String, Sendable {
    case job
    /// Every job that runs, with one command.
    case all
}

/// Calls of operators. Each function's contract stands above it in the library.
extension FunctionLibrary {
    /// Ends every recipient of a job that has no result yet as `cancelled`. Answers a ``JobControlReply``.
    public static func cancel(_ keys: ProjectKeys, job: String, by actor: Actor = Actor()) -> RedisCommand {
        call("cancel", keys, ["id": job], rest: actor.words)
    }

    /// Cancels a job by its own id or its entry's, which is searched in `jobs` after `entry`. Answers an
    /// ``EntryCancelReply``.
    public static func cancelEntry(
        _ keys: ProjectKeys,
        job: String,
        behind entry: String? = nil,
        by actor: Actor = Actor()
    ) -> RedisCommand {
        call("cancel_entry", keys, ["id": job, "behind": entry ?? "-"], rest: actor.words)
    }

    /// Nothing of the job is sent until it is resumed; a fan-out gives up its slot. Answers a ``JobControlReply``.
    public static func pause(
        _ keys: ProjectKeys,
        job: String,
        by actor: Actor = Actor(),
        scope: PauseScope = .job
    ) -> RedisCommand {
        call("pause", keys, ["id": job], rest: actor.words + ["scope", scope.rawValue])
    }

    /// The ``PauseScope`` of a paused job. Null for a job that is not paused.
    public static func pauseScope(_ keys: ProjectKeys, job: String) -> RedisCommand {
        RedisCommand("HGET", keys.base + "spec:" + job, "paused")
    }

    /// Continues a paused job. Answers a ``JobControlReply``.
    public static func resume(_ keys: ProjectKeys, job: String, by actor: Actor = Actor()) -> RedisCommand {
        call("resume", keys, ["id": job], rest: actor.words)
    }

    /// Nothing of the project is sent until it is resumed. Answers `ok`.
    public static func pauseProject(_ keys: ProjectKeys, reason: String, by name: String = "") -> RedisCommand {
        call("pause_project", keys, ["reason": reason], rest: Actor(name, reason: reason).words)
    }

    /// Lifts an operator's pause, and has a blocked project probed at once. Answers `ok`.
    public static func resumeProject(_ keys: ProjectKeys, by actor: Actor = Actor()) -> RedisCommand {
        call("resume_project", keys, [:], rest: actor.words)
    }

    /// Has a blocked project probed at once. Answers `ok`.
    public static func probe(_ keys: ProjectKeys) -> RedisCommand { call("probe_project", keys, [:]) }

    /// Resumes a parked job, or pushes a rejected entry again. Answers a ``ReplayReply``.
    public static func replay(_ keys: ProjectKeys, entryID: String, by actor: Actor = Actor()) -> RedisCommand {
        call("replay", keys, ["entry": entryID], rest: actor.words)
    }

    /// Pushes other fields in place of a rejected entry's. Answers a ``ReplayReply``.
    public static func pushEdited(
        _ keys: ProjectKeys,
        entryID: String,
        fields: [(name: String, value: [UInt8])],
        by actor: Actor
    ) -> RedisCommand {
        var command = call(
            "push_edited",
            keys,
            ["entry": entryID, "actor": actor.name, "reason": actor.reason]
        )
        for (name, value) in fields {
            command.append(name)
            command.append(value)
        }
        return command
    }

    /// Removes an entry from `dead`; the unfinished recipients of a parked job are cancelled. Answers a ``DropReply``.
    public static func drop(_ keys: ProjectKeys, entryID: String, by actor: Actor = Actor()) -> RedisCommand {
        call("drop", keys, ["entry": entryID], rest: actor.words)
    }
}

/// The reply of `cancel`, `pause` and `resume` of a job.
public enum JobControlReply: Equatable, Sendable {
    /// Done, now or before; with the job's state.
    case ok(state: String)
    /// The job was over before.
    case over(state: String)
    /// There is no such job: never pushed, not yet taken by a worker, or no longer kept.
    case missing
    /// Only a replay or a drop of its entry in `dead` moves a parked job.
    case parked

    public init?(_ value: RedisValue) {
        guard let reply = NamedValues(value) else { return nil }
        switch (reply.outcome, reply.text("state")) {
        case ("ok", let state?): self = .ok(state: state)
        case ("over", let state?): self = .over(state: state)
        case ("missing", _): self = .missing
        case ("parked", _): self = .parked
        default: return nil
        }
    }
}

public enum EntryCancelReply: Equatable, Sendable {
    /// The entry's job ends as soon as a worker takes it. The search for further entries of the job continues after an
    /// entry; nil: the search is over.
    case found(behind: String? = nil)
    /// Not found yet; the search continues after this entry.
    case more(behind: String)
    case missing

    public init?(_ value: RedisValue) {
        guard let reply = NamedValues(value) else { return nil }
        switch (reply.outcome, reply.text("entry")) {
        case ("ok", let entry): self = .found(behind: entry)
        case ("more", let entry?): self = .more(behind: entry)
        case ("missing", _): self = .missing
        default: return nil
        }
    }
}

public enum ReplayReply: Equatable, Sendable {
    /// The parked job continues with its unfinished recipients; the entry has left `dead`.
    case resumed(job: String)
    /// The rejected fields were pushed again, as this entry of `jobs`.
    case pushed(entryID: String)
    case missing
    /// The entry's job is no longer there, or no longer parked.
    case gone(job: String)
    /// Another job of the same id is not over yet; the entry stays in `dead`.
    case busy(job: String)

    public init?(_ value: RedisValue) {
        guard let reply = NamedValues(value) else { return nil }
        switch (reply.outcome, reply.text("job") ?? reply.text("entry")) {
        case ("resumed", let job?): self = .resumed(job: job)
        case ("pushed", let entryID?): self = .pushed(entryID: entryID)
        case ("gone", let job?): self = .gone(job: job)
        case ("busy", let job?): self = .busy(job: job)
        case ("missing", _): self = .missing
        default: return nil
        }
    }
}

public enum DropReply: Equatable, Sendable {
    /// The entry has left `dead`; if its job was parked, its unfinished recipients are being cancelled.
    case dropped(job: String)
    case missing

    public init?(_ value: RedisValue) {
        guard let reply = NamedValues(value) else { return nil }
        switch (reply.outcome, reply.text("job")) {
        case ("dropped", let job?): self = .dropped(job: job)
        case ("missing", _): self = .missing
        default: return nil
        }
    }
}
