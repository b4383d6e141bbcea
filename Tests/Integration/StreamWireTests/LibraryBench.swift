import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A redis-server with the function library loaded and two workers registered.
struct LibraryBench {
    static let keys = ProjectKeys(project: "p")

    let server: RedisServer
    let client: RedisClient
    let keys = LibraryBench.keys
    /// The library whose functions are called.
    var version = LibraryVersion.current

    /// Calls the functions of a version of the library on the same server.
    func with(_ version: LibraryVersion) -> LibraryBench {
        var bench = self
        bench.version = version
        return bench
    }

    func call(_ command: RedisCommand) async throws -> RedisValue {
        version.reply(try await client.send(version.command(command)), to: command)
    }

    func request(_ worker: String, most: Int = 10, wanted: Int = 10_000, window: Int = 128) -> ClaimCall {
        ClaimCall(
            worker: worker,
            most: most,
            wanted: wanted,
            wantedSingle: wanted,
            window: window,
            retries: 1_000,
            quotaPerMinute: 600_000
        )
    }

    func claim(_ worker: String, most: Int = 10, wanted: Int = 10_000, window: Int = 128) async throws -> ClaimReply {
        try await claim(request(worker, most: most, wanted: wanted, window: window))
    }

    func claim(_ call: ClaimCall) async throws -> ClaimReply {
        guard case .reply(let reply)? = ClaimReply.parse(try await self.call(call.command(keys))) else {
            throw TestFailure("fenced or not parsed")
        }
        return reply
    }

    func record(_ call: RecordCall, _ worker: String) async throws -> RecordReply {
        try #require(RecordReply(try await self.call(call.command(keys, worker: worker))))
    }

    func job(_ id: String) async throws -> [String: String] { try await map(RedisCommand("HGETALL", keys.job(id))) }

    /// A flat answer as a map.
    func map(_ command: RedisCommand) async throws -> [String: String] {
        let flat = try await call(command).array ?? []
        return Dictionary(
            uniqueKeysWithValues: stride(from: 0, to: flat.count, by: 2).map {
                (flat[$0].string ?? "", flat[$0 + 1].string ?? "")
            }
        )
    }

    /// The texts of a list; of a function's reply its values, the outcome first.
    func words(_ command: RedisCommand) async throws -> [String] {
        let value = try await call(command)
        guard let words = value.array?.map({ $0.string ?? "" }) else { return value.string.map { [$0] } ?? [] }
        guard words.first == "outcome" else { return words }
        return stride(from: 1, to: words.count, by: 2).map { words[$0] }
    }

    @discardableResult
    func intake(
        _ id: String,
        _ target: Target,
        taker: String? = nil,
        own: Bool = true,
        change: (inout Job) -> Void = { _ in }
    ) async throws -> IntakeReply {
        let entry = try #require(try await call(RedisCommand("XADD", keys.jobs, "*", "x", "1")).string)
        var job = Job(id: id, hasOwnID: own, entryID: entry, target: target, message: Array("{}".utf8))
        change(&job)
        return try await intake(job, taker: taker)
    }

    /// Pushes an entry for one recipient, which a worker reads. Returns the job that it will be.
    ///
    /// - Parameter id: nil where the producer gives none.
    func readJob(_ id: String?, by worker: String = "w1") async throws -> Job {
        let entry = try #require(try await call(RedisCommand("XADD", keys.jobs, "*", "x", "1")).string)
        _ = try await call(RedisCommand("XREADGROUP", "GROUP", "fanfare", worker, "STREAMS", keys.jobs, ">"))
        return Job(
            id: id ?? entry,
            hasOwnID: id != nil,
            entryID: entry,
            target: tokens(1),
            message: Array("{}".utf8)
        )
    }

    func intake(_ job: Job, taker: String?) async throws -> IntakeReply {
        try #require(IntakeReply(try await self.call(intakeCall(job, taker: taker).command(keys))))
    }

    func intakeCall(_ job: Job, taker: String?) -> IntakeCall {
        IntakeCall(
            job: job,
            dedupeMs: 3_600_000,
            keepMs: 3_600_000,
            taker: taker,
            window: 128,
            quotaPerMinute: 600_000,
            fanoutRate: 10_000
        )
    }

    func sent(_ index: Int) -> OneResult { OneResult(index: index, object: "{\"i\":\(index)}") }

    /// Everything of a claim was sent and answered, in the batch's first call unless said.
    func finish(_ claim: Claim, _ worker: String, status: RecordCall.Status = .sent, call number: Int = 1) async throws
    {
        var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        call.results = ResultBuffer(claim.recipients.map { OneResult(index: $0.index, status: status, object: "") })
        call.finish = true
        call.number = number
        #expect(try await record(call, worker) == .ok())
    }

    func declareDead(_ worker: String) async throws {
        let counter = try #require(try await call(RedisCommand("HGET", keys.base + "leases", worker)).string)
        _ = try await call(FunctionLibrary.declareDead(keys, worker: worker, counter: counter))
    }

    func register(_ worker: String) async throws {
        _ = try await call(FunctionLibrary.register(keys, worker: worker))
    }

    /// One recipient of a batch is handed on to a retry that is due.
    func retry(
        _ index: Int,
        attempts: Int = 1,
        of claim: Claim,
        _ worker: String,
        finish: Bool = false,
        number: Int = 1
    ) async throws {
        var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        call.number = number
        let history = RecipientHistory(attempts: attempts, firstAttemptMs: 1, maybeDuplicate: false)
        call.retries = [.init(index: index, dueMs: 1, parked: false, packed: history.packed(with: "t\(index)"))]
        call.finish = finish
        #expect(try await record(call, worker) == .ok())
    }

    /// The library's text, with a time of the day that stands still.
    static func stoppingTheClock(at nowMs: Int64, in library: String) -> String {
        #expect(library.ranges(of: "redis.call('TIME')").count == 1)
        return library.replacing(
            "redis.call('TIME')",
            with: "{ '\(nowMs / 1_000)', '\(nowMs % 1_000 * 1_000)' }"
        )
    }

    func active() async throws -> [String] {
        try await map(RedisCommand("HGETALL", keys.base + "active")).keys.sorted()
    }
}

/// A result as tests name it.
struct OneResult {
    var index: Int
    var status = RecordCall.Status.sent
    /// Empty when it is not wanted.
    var object: String
}

extension ResultBuffer {
    init(_ results: [OneResult]) {
        self.init()
        for result in results {
            append(index: result.index, status: result.status, object: result.object.isEmpty ? .none : .wanted) {
                $0.append(contentsOf: result.object.utf8)
            }
        }
    }
}

/// - Parameter nowMs: Unix milliseconds at which the functions' time of the day stands still; nil for Redis' own `TIME`.
func withBench(nowMs: Int64? = nil, _ body: (LibraryBench) async throws -> Void) async throws {
    var library = String(decoding: FunctionLibrary.source, as: UTF8.self)
    if let nowMs { library = LibraryBench.stoppingTheClock(at: nowMs, in: library) }
    try await withBench(library: library, body)
}

/// - Parameter library: the text that Redis loads.
func withBench(library: String, _ body: (LibraryBench) async throws -> Void) async throws {
    let server = try RedisServer()
    let client = try await RedisClient.connect(server.endpoint)
    defer {
        client.close()
        server.stop()
    }
    _ = try await client.send(RedisCommand("FUNCTION", "LOAD", "REPLACE", library))
    _ = try await client.send(JobStream.createGroup(LibraryBench.keys))
    let bench = LibraryBench(server: server, client: client)
    for worker in ["w1", "w2"] { try await bench.register(worker) }
    try await body(bench)
}

func tokens(_ count: Int) -> Target { .tokens((0..<count).map { "t\($0)" }) }
