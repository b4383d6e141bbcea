internal import FanfareClient
internal import FanfareCore
internal import FanfareModel
internal import OpenSSLKit
internal import StreamWire

/// The records of requests in Redis; see ``DuplicateRule``.
///
/// A hash for each fingerprint has a field for each request. A gateway lives while its key is there.
struct RequestRecords: Sendable {
    /// The earlier equal requests of a request that was to be pushed.
    struct Conflict: Sendable {
        var request: UInt64
        /// nil if they are not in Redis yet.
        var entries: [DuplicateRule.Entry]?
    }

    /// A request, its hash and its record.
    typealias Written = (request: UInt64, key: String, record: DuplicateRule.Record)

    let redis: CountedRedis
    let prefix: String
    /// The id of this gateway.
    let gateway: String
    /// How long an id of a job is remembered by workers.
    let dedupeMs: Int64

    /// A gateway is taken for dead after so long without a sign of life.
    private static var lifeMs: Int64 { 1_500 }
    /// Changes in one call.
    private static var maximumChanges: Int { 500 }
    /// The notes of a project end so long after its last push: 30 days.
    private static var noteMs: Int64 { 2_592_000_000 }

    /// The key of a fingerprint.
    func key(of request: [UInt8], project: String) -> String {
        base(project) + MessageDigest.sha256(request).hexadecimal
    }

    private func base(_ project: String) -> String {
        ProjectKeys(prefix: prefix, project: project).base + "gateway:"
    }

    // MARK: Pushing

    /// Pushes a job, writes the records of its requests and notes its id, in one step. Safe to repeat.
    ///
    /// - Parameters:
    ///   - fields: of the entry.
    ///   - records: none for requests that equal ones need not find.
    ///   - isPatient: false for a request that has waited for an open one of another gateway long enough.
    /// - Returns: the requests that have earlier ones to look at. Then nothing was pushed or written.
    func push(
        _ fields: [(name: String, value: [UInt8])],
        id: String,
        _ records: [Written] = [],
        project: String,
        isPatient: Bool = true
    ) async throws -> [Conflict] {
        let keys = ProjectKeys(prefix: prefix, project: project)
        let ignored = isPatient ? gateway + "." : ""
        var arguments = [ignored, String(DuplicateRule.recordMs), String(Self.noteMs), id].map { Array($0.utf8) }
        for (request, _, record) in records { arguments += [field(request), record.text] }
        for (name, value) in fields { arguments += [Array(name.utf8), value] }
        let reply = try await call(.push, [keys.jobs, keys.pushed] + records.map(\.key), arguments)
        return (reply.array ?? []).compactMap { value -> Conflict? in
            guard let parts = value.array, parts.count == 2, let index = parts[0].integer.map(Int.init),
                records.indices.contains(index)
            else { return nil }
            return Conflict(request: records[index].request, entries: Self.entries(parts[1].array ?? []))
        }
    }

    /// The entries of a fingerprint.
    func entries(of key: String) async throws -> [DuplicateRule.Entry] {
        Self.entries(try await redis.reply(to: RedisCommand("HGETALL", key)).array ?? [])
    }

    private static func entries(_ values: [RedisValue]) -> [DuplicateRule.Entry] {
        stride(from: 0, to: values.count - 1, by: 2).compactMap { index in
            guard let request = values[index].string.flatMap(RequestName.init),
                let record = values[index + 1].bytes.flatMap(DuplicateRule.Record.init)
            else { return nil }
            return DuplicateRule.Entry(request, record)
        }
    }

    func remove(_ entry: DuplicateRule.Entry, from key: String) async throws {
        _ = try await redis.reply(to: RedisCommand("HDEL", key, entry.request.text))
    }

    /// Puts the record of a request in the place of an earlier one.
    ///
    /// - Returns: false if the earlier one has changed.
    func takeOver(
        _ entry: DuplicateRule.Entry,
        _ place: DuplicateRule.Place,
        key: String,
        by request: UInt64
    ) async throws -> Bool {
        let own = DuplicateRule.Record.open(place)
        let other = [Array(entry.request.text.utf8), entry.record.text]
        let arguments = [Array(String(DuplicateRule.recordMs).utf8)] + other + [field(request), own.text]
        return try await call(.takeOver, [key], arguments).integer == 1
    }

    /// Changes records that are there. Changes of several projects go in several calls.
    func change(_ changes: some Collection<RequestLedger.Change>) async throws {
        var rest = changes[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.maximumChanges)
            rest = rest.dropFirst(part.count)
            var arguments = [Array(String(DuplicateRule.recordMs).utf8)]
            for change in part { arguments += [field(change.request), change.record?.text ?? []] }
            _ = try await call(.change, part.map(\.key), arguments)
        }
    }

    private func field(_ request: UInt64) -> [UInt8] { Array(RequestName(gateway: gateway, number: request).text.utf8) }

    // MARK: Life

    func showLife() async throws {
        _ = try await redis.reply(to: RedisCommand("SET", lifeKey(gateway), "1", "PX", String(Self.lifeMs)))
    }

    /// The gateways that live, of some.
    func living(_ gateways: Set<String>) async throws -> Set<String> {
        var living: Set<String> = []
        for other in gateways where try await redis.reply(to: RedisCommand("EXISTS", lifeKey(other))).integer == 1 {
            living.insert(other)
        }
        return living
    }

    private func lifeKey(_ gateway: String) -> String { "\(prefix):gateway:\(gateway)" }

    // MARK: Ids of clients

    /// Whose a job's id is.
    enum IDClaim {
        /// This request's, which is the first to give it.
        case new
        /// That of an earlier equal request, which may still be sent.
        case equal
        /// That of a request with another key or body.
        case taken
    }

    /// Claims a job's id for a request, as long as workers remember it: until its job ended without an attempt.
    func claim(_ id: String, for request: [UInt8], project: String) async throws -> IDClaim {
        let first = try await claimOnce(id, for: request, project)
        guard first == .taken, try await status(of: id, project: project)?.hasFreeID == true else { return first }
        await free(id, project: project)
        return try await claimOnce(id, for: request, project)
    }

    private func claimOnce(_ id: String, for request: [UInt8], _ project: String) async throws -> IDClaim {
        let fingerprint = MessageDigest.sha256(request).hexadecimal
        let command = RedisCommand("SET", idKey(id, project), fingerprint, "NX", "GET", "PX", String(dedupeMs))
        guard let known = try await redis.reply(to: command).string else { return .new }
        return known == fingerprint ? .equal : .taken
    }

    /// Whether an equal request has claimed a job's id.
    func isClaimed(_ id: String, by request: [UInt8], project: String) async throws -> Bool {
        let known = try await redis.reply(to: RedisCommand("GET", idKey(id, project))).string
        return known == MessageDigest.sha256(request).hexadecimal
    }

    /// What Redis holds of a job; nil for nothing.
    func status(of job: String, project: String) async throws -> JobStatus? {
        try await FanfareProducer(redis: redis, project: project, prefix: prefix).status(of: job)
    }

    /// Frees an id whose job was rejected or not pushed.
    func free(_ id: String, project: String) async {
        _ = try? await redis.reply(to: RedisCommand("DEL", idKey(id, project)))
    }

    private func idKey(_ id: String, _ project: String) -> String { base(project) + "id:" + id }

    // MARK: Scripts

    private func call(_ script: RecordScript, _ keys: [String], _ arguments: [[UInt8]]) async throws -> RedisValue {
        do {
            return try await redis.reply(to: command("EVALSHA", script.name, keys, arguments))
        } catch let error as any RedisErrorReply where error.replyCode == "NOSCRIPT" {
            return try await redis.reply(to: command("EVAL", script.text, keys, arguments))
        }
    }

    private func command(_ name: String, _ script: String, _ keys: [String], _ arguments: [[UInt8]]) -> RedisCommand {
        var command = RedisCommand(name, script, String(keys.count))
        for key in keys { command.append(key) }
        for argument in arguments { command.append(argument) }
        return command
    }
}

extension JobStatus {
    /// Whether no recipient had an attempt, so that another job may have the id.
    fileprivate var hasFreeID: Bool { isIDFree || state == .rejected }
}
