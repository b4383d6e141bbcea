/// The Redis functions that hold every decision several workers share. The contract of each is written above it in
/// `Library`; this file only spells the calls.
public enum FunctionLibrary {
    /// Name of the library and prefix of its functions. The version in it grows when an argument, a reply or a meaning
    /// changes: workers of two versions then run their own library side by side, on one state.
    public static let name = "fanfare_v2"
    /// The files of `Library` as the one text that Redis takes; later ones call what earlier ones define.
    public static let source: [UInt8] = [
        PackageResources.base_lua,
        PackageResources.redo_lua,
        PackageResources.check_lua,
        PackageResources.jobs_lua,
        PackageResources.audience_lua,
        PackageResources.slot_lua,
        PackageResources.quota_lua,
        PackageResources.leases_lua,
        PackageResources.intake_lua,
        PackageResources.batches_lua,
        PackageResources.claim_lua,
        PackageResources.settle_lua,
        PackageResources.record_lua,
        PackageResources.repair_lua,
        PackageResources.together_lua,
        PackageResources.control_lua,
        PackageResources.fleet_lua,
        PackageResources.functions_lua,
    ].flatMap { $0 }

    /// `FUNCTION LOAD REPLACE`: needs a user that may; a worker's user need not.
    public static func load() -> RedisCommand {
        var command = RedisCommand("FUNCTION", "LOAD", "REPLACE")
        command.append(source)
        return command
    }

    public static func list() -> RedisCommand { RedisCommand("FUNCTION", "LIST", "LIBRARYNAME", name) }

    static func call(_ function: String, _ keys: ProjectKeys, _ arguments: [String] = []) -> RedisCommand {
        var command = call(function, keys, bytes: 64, words: arguments.count)
        for argument in arguments { command.append(argument) }
        return command
    }

    /// A call without arguments yet, and with room for so many bytes of them in so many words.
    static func call(_ function: String, _ keys: ProjectKeys, bytes: Int, words: Int) -> RedisCommand {
        var command = RedisCommand("FCALL", bytes: bytes + keys.base.utf8.count + 64, words: words + 4)
        command.append { word in
            word.append(contentsOf: name.utf8)
            word.append(UInt8(ascii: "_"))
            word.append(contentsOf: function.utf8)
        }
        command.append("1")
        command.append(keys.base)
        return command
    }

    /// Calls that a worker makes so often that several go together; the raw value is the function that takes several.
    public enum Gathered: String, Sendable {
        case intake = "intakes"
        case record = "records"
    }

    /// Several calls of one function as one: made in their order, one answer for each. One that Redis refuses has its error
    /// there, and the others are made all the same.
    public static func together(_ function: Gathered, _ keys: ProjectKeys, _ calls: [RedisCommand]) -> RedisCommand {
        let (bytes, words) = calls.reduce((0, 0)) { ($0.0 + $1.byteCount, $0.1 + $1.count) }
        var command = call(function.rawValue, keys, bytes: bytes, words: words)
        for call in calls { command.appendCounted(call, from: callHead) }
        return command
    }

    /// Words of a call before its arguments: `FCALL`, the function, 1 and the project's base.
    private static let callHead = 4

    public static func register(_ keys: ProjectKeys, worker: String) -> RedisCommand {
        call("register", keys, [worker])
    }

    /// - Parameter about: what the worker says of itself, for people; nil leaves what stands there.
    public static func renew(_ keys: ProjectKeys, worker: String, about: String? = nil) -> RedisCommand {
        call("renew", keys, about.map { [worker, $0] } ?? [worker])
    }

    public static func bury(_ keys: ProjectKeys, worker: String, counter: String) -> RedisCommand {
        call("bury", keys, [worker, counter])
    }

    /// A batch as its holder knows it.
    public struct KnownBatch: Equatable, Sendable {
        public var name: String
        /// Number of the last call that Redis has confirmed; 0 for none.
        public var call: Int
        /// Sends below this position may have begun.
        public var upto: Int
        public init(name: String, call: Int, upto: Int) {
            self.name = name
            self.call = call
            self.upto = upto
        }
    }

    /// - Parameters:
    ///   - connection: number of the worker's connection; the answer to an earlier one's call is an error.
    ///   - isSameServer: Redis has lost nothing, so what this worker does not know of was never sent by it.
    ///   - known: all batches that this worker believes to hold.
    public static func reconcile(
        _ keys: ProjectKeys,
        worker: String,
        connection: Int = 0,
        isSameServer: Bool,
        known: [KnownBatch]
    ) -> RedisCommand {
        let batches = known.flatMap { [$0.name, String($0.call), String($0.upto)] }
        return call("reconcile", keys, [worker, String(connection), isSameServer ? "1" : "0"] + batches)
    }

    public static func leave(_ keys: ProjectKeys, worker: String) -> RedisCommand { call("leave", keys, [worker]) }

    /// Gives one batch back of which nothing is on the wire.
    ///
    /// - Parameter upto: sends below this position may have begun; nil when Redis knows it.
    public static func release(
        _ keys: ProjectKeys,
        worker: String,
        batch: String,
        epoch: String,
        upto: Int? = nil
    ) -> RedisCommand {
        call("release", keys, [worker, batch, epoch, upto.map { String($0) } ?? ""])
    }

    /// May a send begin to a recipient that FCM refused for its rate? Answers the milliseconds to wait, 0 for yes.
    ///
    /// - Parameter nowMs: what the worker takes the project's time for; 0 when it knows none yet.
    public static func pace(_ keys: ProjectKeys, recipient: String, nowMs: Int64 = 0) -> RedisCommand {
        call("pace", keys, [recipient, String(nowMs)])
    }

    /// May so many subscriptions or group operations begin? Answers the milliseconds to wait, 0 for yes.
    public static func manage(_ keys: ProjectKeys, count: Int) -> RedisCommand { call("manage", keys, [String(count)]) }

    /// Tells how many XMPP connections a worker has; asking for one more, answers the milliseconds to wait, 0 for yes.
    public static func connect(_ keys: ProjectKeys, worker: String, open: Int, wantsMore: Bool) -> RedisCommand {
        call("connect", keys, [worker, String(open), wantsMore ? "1" : "0"])
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

    /// Removes consumers of the job stream that have nothing pending and were not heard of for so long.
    public static func tidy(_ keys: ProjectKeys, idleMs: Int64) -> RedisCommand { call("tidy", keys, [String(idleMs)]) }

    /// - Parameters:
    ///   - fields: the entry as it came; names and values are kept byte for byte, the first 1,000 of them.
    ///   - undecodedNames: the bytes of names that are not UTF-8, by position, as ``StreamEntry`` has them.
    public static func reject(
        _ keys: ProjectKeys,
        entryID: String,
        job: String,
        reason: String,
        keepMs: Int64,
        fields: [(name: String, value: [UInt8])],
        undecodedNames: [Int: [UInt8]] = [:]
    ) -> RedisCommand {
        var command = call("reject", keys, [entryID, job, reason, String(keepMs)])
        // Lua's stack bounds what one XADD can be given.
        for (index, field) in fields.prefix(1_000).enumerated() {
            if let name = undecodedNames[index] { command.append(name) } else { command.append(field.name) }
            if field.value.count < RedisCommand.large {
                command.append(field.value)
            } else {
                command.append(shared: field.value[...])
            }
        }
        return command
    }
}
