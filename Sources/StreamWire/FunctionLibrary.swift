/// The Redis functions that hold every decision several workers share. The contract of each is written above it in
/// `Library/fanfare.lua`; this file only spells the calls.
public enum FunctionLibrary {
    /// Grows when a function's meaning changes; both versions can be loaded side by side during a rolling upgrade.
    public static let version = 1
    public static let name = "fanfare_v1"
    public static var source: [UInt8] { PackageResources.fanfare_lua }

    /// `FUNCTION LOAD REPLACE`: needs a user that may; a worker's user need not.
    public static func load() -> RedisCommand {
        var command = RedisCommand("FUNCTION", "LOAD", "REPLACE")
        command.append(source)
        return command
    }

    public static func list() -> RedisCommand { RedisCommand("FUNCTION", "LIST", "LIBRARYNAME", name) }

    static func call(_ function: String, _ keys: ProjectKeys, _ arguments: [String] = []) -> RedisCommand {
        var command = RedisCommand("FCALL", "\(name)_\(function)", "1", keys.base)
        for argument in arguments { command.append(argument) }
        return command
    }

    public static func register(_ keys: ProjectKeys, worker: String) -> RedisCommand {
        call("register", keys, [worker])
    }

    public static func renew(_ keys: ProjectKeys, worker: String) -> RedisCommand { call("renew", keys, [worker]) }

    public static func bury(_ keys: ProjectKeys, worker: String, counter: String) -> RedisCommand {
        call("bury", keys, [worker, counter])
    }

    /// - Parameter known: the names of all batches that this worker believes to hold.
    public static func reconcile(_ keys: ProjectKeys, worker: String, known: [String]) -> RedisCommand {
        call("reconcile", keys, [worker] + known)
    }

    public static func leave(_ keys: ProjectKeys, worker: String) -> RedisCommand { call("leave", keys, [worker]) }

    /// - Parameters:
    ///   - most: batches at most.
    ///   - wanted: recipients; no further batch is given once there are that many.
    ///   - window: how many sends of each batch may begin at once.
    public static func claim(
        _ keys: ProjectKeys,
        worker: String,
        most: Int,
        wanted: Int,
        window: Int
    ) -> RedisCommand {
        call("claim", keys, [worker, String(most), String(wanted), String(window)])
    }

    public static func copy(_ keys: ProjectKeys, job: String, runID: String, step: Int) -> RedisCommand {
        call("copy", keys, [job, runID, String(step)])
    }

    public static func spec(_ keys: ProjectKeys, job: String) -> RedisCommand { call("spec", keys, [job]) }

    public static func hold(_ keys: ProjectKeys, milliseconds: Int64) -> RedisCommand {
        call("hold", keys, [String(milliseconds)])
    }

    public static func trim(_ keys: ProjectKeys, stream: String, keepMs: Int64) -> RedisCommand {
        call("trim", keys, [stream, String(keepMs)])
    }

    /// - Parameter fields: the entry as it came; names and values are kept byte for byte, the first 1,000 of them.
    public static func reject(
        _ keys: ProjectKeys,
        entryID: String,
        job: String,
        reason: String,
        keepMs: Int64,
        fields: [(name: String, value: [UInt8])]
    ) -> RedisCommand {
        var command = call("reject", keys, [entryID, job, reason, String(keepMs)])
        // Lua's stack bounds what one XADD can be given.
        for field in fields.prefix(1_000) {
            command.append(field.name)
            command.append(field.value)
        }
        return command
    }
}
