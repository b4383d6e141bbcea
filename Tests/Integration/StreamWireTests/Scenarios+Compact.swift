import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

extension Scenario {
    /// Compact jobs: by short calls, three get their result, one of them failed, and one is retried; the others are
    /// retried, cancelled, given back, and taken over from a dead worker. An entry with a taken id is dropped.
    static let compact = Scenario("compact jobs") { run in
        let keys = run.bench.keys
        run.outcome = { job, _, attempts in
            if job == "failed" { return .status(.failed) }
            return ["again", "retried", "more"].contains(job) && attempts < 2 ? .retry : .status(.sent)
        }
        var calls: [IntakeCall] = []
        for id in ["a", "b", "a", "failed", "again", "retried", "more", "cancelled", "released"] {
            calls.append(run.bench.intakeCall(try await run.push(id, tokens(1)), taker: "w1"))
        }
        let taken = try await run.takeCompact(calls, "w1")
        for name in ["a", "b", "failed"] {
            guard let job = taken[name] else { continue }
            var record = run.bench.record(of: job)
            if name == "failed" {
                record.results = ResultBuffer([OneResult(index: 0, status: .failed, object: #"{"i":0,"s":"failed"}"#)])
                record.feedback = [.removal]
            }
            try await run.record(record, "w1")
        }
        // One by a short call, two by long calls in one: the second is expanded after the first one's step was made.
        var retries: [RedisCommand] = []
        for name in ["again", "retried", "more"] {
            guard let job = taken[name] else { continue }
            let record = run.bench.retry(of: job, id: name)
            run.noteRetry("\(name)/0")
            if name == "again" {
                try await run.record(record, "w1")
            } else {
                retries.append(record.command(keys, worker: "w1"))
            }
        }
        if !retries.isEmpty { try await run.call(FunctionLibrary.coalesce(.record, keys, retries)) }
        try await run.call(FunctionLibrary.cancel(keys, job: "cancelled"))
        if let job = taken["released"] {
            let batch = "released/0"
            try await run.call(
                FunctionLibrary.release(keys, worker: "w1", batch: batch, epoch: job.epoch, watermark: 0)
            )
        }
        let lost = run.bench.intakeCall(try await run.push("lost", tokens(1)), taker: "w2")
        try await run.takeCompact([lost], "w2")
        let counter = try await run.bench.call(RedisCommand("HGET", keys.base + "leases", "w2")).string ?? ""
        try await run.call(FunctionLibrary.declareDead(keys, worker: "w2", counter: counter))
        try await run.call(FunctionLibrary.reconcile(keys, worker: "w1", isSameServer: true, known: []))
        try await run.work()
        let sent = ["a", "b", "again", "retried", "more", "released", "lost"].map { ($0, [RecordCall.Status.sent]) }
        return Dictionary(uniqueKeysWithValues: sent + [("cancelled", [.cancelled]), ("failed", [.failed])])
    }
}

extension FaultRun {
    /// Hands jobs over by short calls. Returns the compact ones, by their ids.
    @discardableResult
    func takeCompact(_ calls: [IntakeCall], _ worker: String) async throws -> [String: CompactJob] {
        let short = try calls.map { try #require($0.shortCall()) }
        let value = try await call(FunctionLibrary.coalesce(.intake, bench.keys, short), claimer: worker)
        var taken: [String: CompactJob] = [:]
        for (call, reply) in zip(calls, value.array ?? []) {
            guard case .taken(_, _, let held?)? = IntakeReply(reply) else { continue }
            taken[call.job.id] = call.compactJob(held: held)
        }
        return taken
    }

    /// Writes a flush as a worker does, by a short call where it can.
    @discardableResult
    func record(_ record: RecordCall, _ worker: String) async throws -> RecordReply? {
        guard let short = record.shortCall(worker: worker) else {
            return RecordReply(try await call(record.command(bench.keys, worker: worker)))
        }
        let value = try await call(FunctionLibrary.coalesce(.record, bench.keys, [short]))
        return value.array?.first.flatMap(RecordReply.init)
    }
}

extension RecordCall.Feedback {
    static let removal = Self(
        index: 0,
        kind: "token",
        recipient: "t0",
        action: "remove",
        replacement: "",
        error: "UNREGISTERED"
    )
}

extension LibraryBench {
    /// The one flush of a compact job whose recipient was sent to.
    func record(of job: CompactJob, id: String = "") -> RecordCall {
        var record = RecordCall(job: id, batch: "0", epoch: job.epoch)
        record.compact = job
        record.finish = true
        record.allSent = true
        record.results = ResultBuffer([OneResult(index: 0, object: #"{"i":0,"s":"sent"}"#)])
        return record
    }

    /// The one flush of a compact job whose recipient waits for its retry.
    func retry(of job: CompactJob, id: String) -> RecordCall {
        var record = record(of: job, id: id)
        let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, maybeDuplicate: false)
        record.results = ResultBuffer()
        record.retries = [.init(index: 0, dueMs: 1, parked: false, packed: history.packed(with: "t0"))]
        return record
    }

    /// Pushes an entry and hands it over by a short call. Returns the call and Redis' answer.
    func takeCompact(
        _ id: String?,
        by worker: String = "w1",
        change: (inout Job) -> Void = { _ in }
    ) async throws -> (call: IntakeCall, reply: IntakeReply?) {
        var job = try await readJob(id, by: worker)
        change(&job)
        let intake = intakeCall(job, taker: worker)
        let short = try #require(intake.shortCall())
        let replies = try await call(FunctionLibrary.coalesce(.intake, keys, [short])).array
        return (intake, replies?.first.flatMap(IntakeReply.init))
    }

    /// The compact job that a short call handed over.
    func compact(_ id: String?, by worker: String = "w1", change: (inout Job) -> Void = { _ in }) async throws
        -> CompactJob
    {
        let (intake, reply) = try await takeCompact(id, by: worker, change: change)
        guard case .taken(_, _, let held?)? = reply else { throw TestFailure("\(String(describing: reply))") }
        return intake.compactJob(held: held)
    }

    func finish(_ job: CompactJob, _ worker: String = "w1", change: (inout RecordCall) -> Void = { _ in }) async throws
        -> RecordReply?
    {
        var record = record(of: job)
        change(&record)
        let short = try #require(record.shortCall(worker: worker))
        return try await call(FunctionLibrary.coalesce(.record, keys, [short])).array?.first.flatMap(RecordReply.init)
    }

    /// The names of the project's keys, without its base.
    func names() async throws -> [String] {
        let all = try await call(RedisCommand("KEYS", "*")).array?.compactMap(\.string) ?? []
        return all.filter { $0.hasPrefix(keys.base) }.map { String($0.dropFirst(keys.base.count)) }.sorted()
    }
}

extension IntakeCall {
    /// The job that its short call made, of which Redis keeps this.
    func compactJob(held: String) -> CompactJob {
        let entryID = job.hasOwnID ? job.entryID : ""
        return CompactJob(id: job.id, entryID: entryID, spec: spec, keepMs: keepMs, held: held)
    }
}
