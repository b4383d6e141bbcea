import FanfareCore
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Jobs with guards, in a real server whose time of the day the test sets.
struct GuardBench {
    /// Before the time of the entries of streams, which Redis gives by its own clock.
    static let startMs: Int64 = 1_700_000_000_000

    let bench: LibraryBench

    var keys: ProjectKeys { bench.keys }

    /// Sets the time of the day, and with it the project's time.
    func setClock(_ ms: Int64) async throws {
        _ = try await bench.client.send(RedisCommand("SET", "clock", String(ms)))
    }

    func clock() async throws -> Int64 {
        try #require(try await bench.client.send(RedisCommand("GET", "clock")).string.flatMap { Int64($0) })
    }

    /// Moves the clock forward; the claim shows the project that the time has really passed.
    func advance(_ ms: Int64) async throws {
        try await setClock(try await clock() + ms)
        _ = try await bench.claim("w1", most: 0)
    }

    @discardableResult
    func intake(
        _ id: String,
        _ count: Int,
        window: WindowTimes? = nil,
        change: @escaping (inout JobGuards) -> Void
    ) async throws -> IntakeReply {
        let entry = try #require(try await bench.call(RedisCommand("XADD", keys.jobs, "*", "x", "1")).string)
        var job = Job(id: id, hasOwnID: true, entryID: entry, target: tokens(count), message: Array("{}".utf8))
        change(&job.guards)
        var call = bench.intakeCall(job, taker: "w1")
        call.windowTimes = window
        return try #require(IntakeReply(try await bench.call(call.command(keys))))
    }

    /// Claims of one worker.
    func claims(_ worker: String = "w1", window: Int = 128) async throws -> [Claim] {
        try await bench.claim(worker, window: window).claims
    }

    func state(_ id: String) async throws -> [String?] {
        let job = try await bench.job(id)
        return [job["state"], job["reason"]]
    }

    func field(_ name: String, of id: String) async throws -> String? {
        try await bench.call(RedisCommand("HGET", keys.base + "spec:" + id, name)).string
    }

    func resume(_ id: String) async throws -> [String] { try await bench.words(FunctionLibrary.resume(keys, job: id)) }

    func pause(_ id: String) async throws { _ = try await bench.call(FunctionLibrary.pause(keys, job: id)) }

    func cancel(_ id: String) async throws { _ = try await bench.call(FunctionLibrary.cancel(keys, job: id)) }
}

/// A batch as its worker sends it: numbers its flushes and follows its watermark.
struct GuardedBatch {
    let claim: Claim
    let worker: String
    var watermark: Int
    /// Flushes so far.
    var number = 0

    init(_ claim: Claim, _ worker: String = "w1") {
        (self.claim, self.worker) = (claim, worker)
        watermark = claim.watermark
    }

    /// The flush of the next outcomes of first attempts. A retryable outcome becomes a retry that is due at once.
    ///
    /// - Parameters:
    ///   - outcomes: by position in the batch.
    ///   - asked: the watermark that is asked for.
    mutating func call(
        _ outcomes: [(position: Int, outcome: FirstAttempt)],
        asking asked: Int? = nil,
        finish: Bool = false
    ) -> RecordCall {
        number += 1
        var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        call.number = number
        call.watermark = asked
        call.finish = finish
        call.allSent = finish
        let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, maybeDuplicate: false)
        for (position, outcome) in outcomes {
            let recipient = claim.recipients[position]
            call.firstAttempts.append(outcome.letter)
            switch outcome {
            case .retryable:
                let packed = history.packed(with: recipient.value)
                call.retries.append(.init(index: recipient.index, dueMs: 1, parked: false, packed: packed))
            case .sent: call.results.append(index: recipient.index, status: .sent)
            case .unknown: call.results.append(index: recipient.index, status: .unknown)
            case .failed, .unsendable: call.results.append(index: recipient.index, status: .failed)
            }
        }
        return call
    }

    /// Records outcomes; returns what the job's guards made of them.
    @discardableResult
    mutating func record(
        _ outcomes: [(position: Int, outcome: FirstAttempt)],
        asking asked: Int? = nil,
        finish: Bool = false,
        in bench: LibraryBench
    ) async throws -> GuardedReply {
        let call = call(outcomes, asking: asked, finish: finish)
        guard case .ok(let guarded) = try await bench.record(call, worker) else {
            throw TestFailure("not recorded")
        }
        if let asked { watermark = max(watermark, guarded.watermark ?? asked) }
        return guarded
    }

    /// Records the same outcome for a range of positions.
    @discardableResult
    mutating func record(
        _ positions: Range<Int>,
        _ outcome: FirstAttempt = .sent,
        asking asked: Int? = nil,
        finish: Bool = false,
        in bench: LibraryBench
    ) async throws -> GuardedReply {
        try await record(positions.map { ($0, outcome) }, asking: asked, finish: finish, in: bench)
    }

    func release(_ guards: GuardBench) async throws {
        let release = FunctionLibrary.release(guards.keys, worker: worker, batch: claim.name, epoch: claim.epoch)
        #expect(try await guards.bench.call(release).integer == 1)
    }
}

/// A bench whose time of the day is that of the key `clock`.
func withGuardBench(_ body: (GuardBench) async throws -> Void) async throws {
    let source = String(decoding: FunctionLibrary.source, as: UTF8.self)
    #expect(source.ranges(of: "redis.call('TIME')").count == 1)
    let time =
        "(function() local ms = tonumber(redis.call('GET', 'clock')) "
        + "return { tostring(math.floor(ms / 1000)), tostring(ms % 1000 * 1000) } end)()"
    let library = source.replacing("redis.call('TIME')", with: time)
    try await withBench(library: library) { bench in
        let guards = GuardBench(bench: bench)
        try await guards.setClock(GuardBench.startMs)
        try await body(guards)
    }
}
