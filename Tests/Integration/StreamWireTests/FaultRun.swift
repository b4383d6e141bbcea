import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// One run of a scenario against the faulty library: its `faultyCall`-th call fails at its k-th command, and is repeated as a
/// worker repeats it.
final class FaultRun {
    let bench: LibraryBench
    /// The library that serves a call, and the repetition of a call that failed.
    private let version: @Sendable (_ call: Int, _ isRepeated: Bool) -> LibraryVersion
    private let faultyCall: Int
    private let k: Int
    /// Stands in the way of every call of the run, until it has failed twice.
    private var fault: Fault?
    /// Calls that the fault stopped.
    private(set) var stopped = 0
    /// Versions that served a call.
    private(set) var usedVersions: Set<LibraryVersion> = []
    /// Calls so far.
    private(set) var calls = 0
    /// The k-th command of the faulty call was reached.
    private(set) var wasHit = false
    /// What an answer from FCM comes to, by job, index and attempts before.
    var outcome: (String, Int, Int) -> Outcome = { _, _, _ in .status(.sent) }
    /// By "<job>/<index>": sends that were not flagged as possible duplicates, and retries.
    private(set) var sends: [String: Int] = [:]
    private(set) var retries: [String: Int] = [:]

    /// A fault in Redis: how to set it, and how to undo it.
    struct Fault {
        let name: String
        let set: (LibraryBench) async throws -> Void
        let lift: (LibraryBench) async throws -> Void
    }

    enum Outcome { case status(RecordCall.Status), retry }

    init(
        _ bench: LibraryBench,
        faultyCall: Int = 0,
        k: Int = 0,
        fault: Fault? = nil,
        version: @escaping @Sendable (_ call: Int, _ isRepeated: Bool) -> LibraryVersion = { _, _ in .current }
    ) async throws {
        (self.bench, self.faultyCall, self.k, self.fault) = (bench, faultyCall, k, fault)
        self.version = version
        _ = try await bench.call(RedisCommand("FLUSHALL"))
        _ = try await bench.call(JobStream.createGroup(bench.keys))
        for worker in ["w1", "w2"] { try await bench.register(worker) }
        #expect(try await FaultyLibrary.arm(-1, bench) <= 0)
    }

    /// - Parameter claimer: the worker in whose name batches may be held afterwards that it does not know of.
    @discardableResult
    func call(_ command: RedisCommand, claimer: String? = nil) async throws -> RedisValue {
        calls += 1
        if fault != nil { usedVersions.insert(.current) }
        if let fault { return try await call(command, claimer: claimer, against: fault) }
        usedVersions.insert(version(calls, false))
        let bench = bench.with(version(calls, false))
        guard calls == faultyCall else { return try await bench.call(command) }
        _ = try await FaultyLibrary.arm(k, bench)
        var reply: RedisValue?
        do { reply = try await bench.call(command) } catch is RedisError {}
        wasHit = try await FaultyLibrary.arm(-1, bench) == 0
        if let reply, !Self.hasErrors(reply) { return reply }
        guard wasHit else { throw TestFailure("\(command) failed by itself") }
        return try await again(command, claimer)
    }

    /// Whether a call of several was refused one of them.
    private static func hasErrors(_ reply: RedisValue) -> Bool {
        reply.array?.contains { if case .error = $0 { true } else { false } } ?? false
    }

    private func again(_ command: RedisCommand, _ claimer: String?) async throws -> RedisValue {
        usedVersions.insert(version(calls, true))
        let bench = bench.with(version(calls, true))
        if let claimer {
            let none = FunctionLibrary.reconcile(bench.keys, worker: claimer, isSameServer: true, known: [])
            _ = try await bench.call(none)
        }
        return try await bench.call(command)
    }

    private func call(_ command: RedisCommand, claimer: String?, against fault: Fault) async throws -> RedisValue {
        try await fault.set(bench)
        var reply: RedisValue?
        for _ in 0..<2 where reply == nil {
            do { reply = try await bench.call(command) } catch is RedisError {}
            if reply.map(Self.hasErrors) == true { reply = nil }
        }
        try await fault.lift(bench)
        if let reply { return reply }
        stopped += 1
        return try await again(command, claimer)
    }

    /// The way stays clear from now on, and the worker finds out what it holds.
    func clearTheWay() async throws {
        fault = nil
        let none = FunctionLibrary.reconcile(bench.keys, worker: "w1", isSameServer: true, known: [])
        _ = try await bench.call(none)
    }

    func push(_ id: String, _ target: Target, change: (inout Job) -> Void = { _ in }) async throws -> Job {
        let entry = try await bench.call(RedisCommand("XADD", bench.keys.jobs, "*", "x", "1", "id", id)).string ?? ""
        _ = try await bench.call(
            RedisCommand("XREADGROUP", "GROUP", "fanfare", "w1", "STREAMS", bench.keys.jobs, ">")
        )
        var job = Job(id: id, hasOwnID: true, entryID: entry, target: target, message: Array("{}".utf8))
        change(&job)
        return job
    }

    /// A job of so many recipients, whose audience is a list.
    func pushList(_ id: String, _ count: Int) async throws -> Job {
        let key = bench.keys.base + "audience-" + id
        for index in 0..<count { _ = try await bench.call(RedisCommand("RPUSH", key, "t\(index)")) }
        return try await push(id, .audience(key: key))
    }

    func intake(_ job: Job, taker: String? = nil) async throws {
        try await call(bench.intakeCall(job, taker: taker).command(bench.keys), claimer: "w1")
    }

    func claim(_ worker: String = "w1", window: Int = 2_000, most: Int = 10) async throws -> ClaimReply {
        let call = ClaimCall(
            worker: worker,
            most: most,
            wanted: 100_000,
            wantedSingle: 100_000,
            window: window,
            retries: 1_000,
            quotaPerMinute: 600_000
        )
        let value = try await self.call(call.command(bench.keys), claimer: worker)
        guard case .reply(let reply)? = ClaimReply.parse(value) else { throw TestFailure("\(value)") }
        return reply
    }

    func noteRetry(_ name: String) { retries[name, default: 0] += 1 }

    /// Claims and sends until nothing comes any more.
    func work(rounds: Int = 6) async throws {
        for _ in 0..<rounds {
            let reply = try await claim()
            if !reply.copying.isEmpty {
                let step = FunctionLibrary.copy(bench.keys, job: reply.copying, runID: "r", step: 500)
                while CopyReply(try await call(step)) == .more {}
            }
            for claim in reply.claims { try await send(claim) }
        }
    }

    private func send(_ claim: Claim) async throws {
        let open = claim.recipients.filter { $0.progress != .settled }
        let parts = stride(from: 0, to: max(1, open.count), by: 5).map { open.dropFirst($0).prefix(5) }
        for (number, part) in parts.enumerated() {
            var record = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
            record.number = number + 1
            record.finish = number + 1 == parts.count
            record.allSent = record.finish
            var results: [OneResult] = []
            for recipient in part { note(recipient, of: claim, &record, &results) }
            record.results = ResultBuffer(results)
            let value = try await call(record.command(bench.keys, worker: "w1"))
            guard case .ok? = RecordReply(value) else { return }
        }
    }

    func note(
        _ recipient: ClaimedRecipient,
        of claim: Claim,
        _ record: inout RecordCall,
        _ results: inout [OneResult]
    ) {
        let (index, history) = (recipient.index, recipient.history)
        func add(_ status: RecordCall.Status) {
            results.append(OneResult(index: index, status: status, object: "{\"i\":\(index),\"s\":\"\(status)\"}"))
        }
        if let ending = claim.ending { return add(ending == "expired" ? .expired : .cancelled) }
        let name = "\(claim.job)/\(index)"
        let isFlagged = history.maybeDuplicate || recipient.progress == .maybeSent
        if !isFlagged { sends[name, default: 0] += 1 }
        switch outcome(claim.job, index, history.attempts) {
        case .retry:
            retries[name, default: 0] += 1
            let next = RecipientHistory(attempts: history.attempts + 1, firstAttemptMs: 1, maybeDuplicate: isFlagged)
            record.retries.append(
                .init(index: index, dueMs: 1, parked: false, packed: next.packed(with: recipient.value))
            )
        case .status(let status):
            add(status)
            guard status == .failed else { return }
            record.feedback.append(
                .init(
                    index: index,
                    kind: "token",
                    recipient: recipient.value,
                    action: "remove",
                    replacement: "",
                    error: "UNREGISTERED"
                )
            )
        }
    }
}
