/// The Redis functions that hold every decision several workers share: text in `Library`, calls in `Functions`.
public enum FunctionLibrary {
    /// Name of the library and prefix of its functions. The version in it grows when an argument, a reply or a meaning
    /// changes: workers of two versions then run their own library side by side, on one state.
    public static let name = "fanfare_v3"
    /// The files of `Library` as the one text that Redis takes; a file calls functions of the files before it.
    public static let source: [UInt8] = [
        PackageResources.base_lua,  // values, `ctl`, the project's time, epochs, news
        PackageResources.redo_lua,  // steps: groups of writes that are all made, or none
        PackageResources.check_lua,  // rights of the caller, types of keys
        PackageResources.trail_lua,  // audit list, marks of the history, jobs that are over
        PackageResources.pauses_lua,  // lists of paused jobs
        PackageResources.jobs_lua,  // queues, ends and parking of jobs
        PackageResources.audience_lua,  // estimates of topics' audiences
        PackageResources.message_lua,  // judgement of fan-outs whose message FCM refuses
        PackageResources.guards_lua,  // rates, canaries, stop conditions and send windows of jobs
        PackageResources.refusals_lua,  // refusals of a project, and its block
        PackageResources.slot_lua,  // the slot of fan-outs and broadcasts
        PackageResources.quota_lua,  // the governor: permits, and holds for refusals
        PackageResources.pace_lua,  // rates of recipients, operations and XMPP connections
        PackageResources.leases_lua,  // workers: register, renew, declare dead, deregister
        PackageResources.reconcile_lua,  // release of batches, and their comparison with a worker
        PackageResources.recipients_lua,  // recipients that an entry brings
        PackageResources.intake_lua,  // intake and reject: from an entry to a job
        PackageResources.copy_lua,  // the private copy of an audience
        PackageResources.batches_lua,  // claims of first passes and of orphans
        PackageResources.waiting_lua,  // claims of due recipients
        PackageResources.quarantine_lua,  // the worker and the mode of quarantined batches
        PackageResources.probe_lua,  // the probe of a blocked project
        PackageResources.claim_lua,  // claim: work, permits and news
        PackageResources.record_parts_lua,  // results, feedback and retries of a flush
        PackageResources.record_lua,  // record: one flush
        PackageResources.compact_lua,  // jobs of one recipient as one text
        PackageResources.compact_record_lua,  // their results and retries
        PackageResources.repair_lua,  // repair of jobs that never end
        PackageResources.coalesce_lua,  // several calls of intake or record in one
        PackageResources.health_lua,  // what workers report, and the reasons that jobs show for it
        PackageResources.control_lua,  // calls of operators
        PackageResources.fleet_lua,  // figures for the dashboard
        PackageResources.history_lua,  // counts of the last hour and day
        PackageResources.functions_lua,  // names under which Redis knows the functions
    ].flatMap { $0 }

    /// `FUNCTION LOAD REPLACE`: needs a user that may; a worker's user need not.
    public static func load() -> RedisCommand {
        var command = RedisCommand("FUNCTION", "LOAD", "REPLACE")
        command.append(source)
        return command
    }

    public static func list() -> RedisCommand { RedisCommand("FUNCTION", "LIST", "LIBRARYNAME", name) }

    /// A call with its arguments in the function's order and by its names, and `rest` after them.
    static func call(
        _ function: String,
        _ keys: ProjectKeys,
        _ arguments: KeyValuePairs<String, String> = [:],
        rest: [String] = []
    ) -> RedisCommand {
        var command = call(function, keys, bytes: 64, words: arguments.count + rest.count)
        for (name, value) in arguments { command.append(value, as: name) }
        for argument in rest { command.append(argument) }
        return command
    }

    /// A call without arguments yet, with room for so many bytes of them in so many words.
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

    /// Functions whose calls are coalesced; the raw value is the function that takes several.
    public enum Coalesced: String, Sendable {
        case intake = "intakes"
        case record = "records"
    }

    /// Several calls of one function as one, some of which may be short, which answers their replies. An error does not stop
    /// the others.
    public static func coalesce(_ function: Coalesced, _ keys: ProjectKeys, _ calls: [RedisCommand]) -> RedisCommand {
        let (bytes, words) = calls.reduce((0, 0)) { ($0.0 + $1.byteCount, $0.1 + $1.count) }
        var command = call(function.rawValue, keys, bytes: bytes, words: words)
        for call in calls { command.appendCounted(call, from: callHead) }
        return command
    }

    /// Words of a call before its arguments: `FCALL`, the function, 1 and the project's base.
    static let callHead = 4
}

extension RedisCommand {
    /// Appends an argument of a function. A test compares the names with the function's first line.
    mutating func append(_ value: String, as name: String) { append(value) }

    mutating func append(as name: String, writing value: (inout [UInt8]) -> Void) { append(writing: value) }

    mutating func append(_ value: some BinaryInteger, as name: String) { append(Int64(value)) }

    mutating func append(_ value: Bool, as name: String) { append(value ? "1" : "0") }
}
