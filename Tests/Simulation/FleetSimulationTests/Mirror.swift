import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FleetSimulation

/// One project in a real server and in the model. Sends every call to both and compares the answers. The model uses
/// Redis' time.
///
/// Excludes two known differences: behaviour after a rollback, and pauses of jobs that have orphans.
struct Mirror {
    private struct Held {
        var worker: Int
        var claim: Claim
        var given: Given
        /// Of a job that was handed over by a short call, until its first flush.
        var compact: CompactJob?
    }

    private static let maximumJobs = 9

    private let client: RedisClient
    private let keys = ProjectKeys(project: "p")
    private var dice: Dice
    private var state: ProjectState
    private let referee: Referee
    private let clock = Clock(mutation: nil, isCalm: false)
    private var workers: [Int] = []
    private var nextWorker = 1
    private var held: [Held] = []
    private var lastEpoch: Int64 = 0
    private var nowMs: Int64 = 0

    init(client: RedisClient, seed: UInt64) {
        self.client = client
        dice = Dice(seed: seed)
        state = ProjectState(jobs: [], batchSize: Batch.maximumSize, quota: 600_000, activeLimit: 1)
        // The referee only needs the jobs' places, because nothing is sent here.
        let places = (0..<Self.maximumJobs).map {
            JobRecord(
                number: $0,
                kind: .single,
                total: 1,
                turn: FanoutSlot.Turn(priority: 5, entryMs: 0, entrySequence: 0, job: $0)
            )
        }
        referee = Referee(clock: clock, project: 0, jobs: places, quota: 600_000, activeLimit: 1)
    }

    mutating func step() async throws {
        while workers.count < 3 { try await register() }
        switch dice.unit() {
        case ..<0.15 where state.jobs.count < Self.maximumJobs: try await intake()
        case ..<0.5: try await claim(dice.pick(workers))
        case ..<0.85 where !held.isEmpty: try await record(dice.int(0...held.count - 1))
        case ..<0.9: try await declareDead(dice.pick(workers))
        case ..<0.94: try await pauseOrResume()
        case ..<0.96 where !state.jobs.isEmpty: try await cancel(dice.int(0...state.jobs.count - 1))
        default: try await claim(dice.pick(workers))
        }
    }

    /// Finishes all remaining work and compares the counters.
    mutating func finish() async throws {
        for job in state.jobs where job.isPaused { try await resume(job.number) }
        for id in state.parked { try await replay(id) }
        for _ in 0..<200 where !state.jobs.allSatisfy(\.isOver) {
            while workers.isEmpty { try await register() }
            try await claim(dice.pick(workers))
            while !held.isEmpty { try await record(0, closes: true) }
        }
        for job in state.jobs {
            #expect(job.isOver)
            let names = ["sent", "failed", "unknown", "cancelled", "expired"]
            let counters =
                try await client.send(
                    RedisCommand("HMGET", keys.job("j\(job.number)"), names[0], names[1], names[2], names[3], names[4])
                ).array ?? []
            #expect(
                counters.compactMap { $0.string.flatMap { Int($0) } }
                    == names.map { job.counters[ResultStatus(rawValue: $0) ?? .sent] ?? 0 }
            )
        }
        #expect(clock.violation == nil)
    }

    // MARK: Calls

    private mutating func register() async throws {
        workers.append(nextWorker)
        _ = try await client.send(FunctionLibrary.register(keys, worker: "w\(nextWorker)"))
        state.register(nextWorker, referee: referee)
        nextWorker += 1
    }

    private mutating func intake() async throws {
        let number = state.jobs.count
        let kind: JobClass = dice.chance(0.4) ? .fanout : .single
        let total = kind == .fanout ? dice.int(1_001...(dice.chance(0.2) ? 12_000 : 2_600)) : dice.int(1...4)
        let priority = dice.chance(0.5) ? 5 : dice.chance(0.4) ? 9 : dice.int(0...9)
        let entry = try #require(try await client.send(RedisCommand("XADD", keys.jobs, "*", "x", "1")).string)
        let parts = entry.split(separator: "-").compactMap { Int64($0) }
        var job = Job(
            id: "j\(number)",
            hasOwnID: true,
            entryID: entry,
            target: .tokens((0..<total).map { "t\($0)" }),
            message: Array("{}".utf8)
        )
        job.priority = priority
        let taker = dice.chance(0.5) ? dice.pick(workers) : nil
        let call = IntakeCall(
            job: job,
            dedupeMs: 3_600_000,
            keepMs: 3_600_000,
            taker: taker.map { "w\($0)" },
            window: 2,
            quotaPerMinute: 600_000,
            fanoutRate: 10_000
        )
        let short = dice.chance(0.7) ? call.shortCall() : nil
        let reply = try #require(IntakeReply(try await send(call.command(keys), short: short, as: .intake)))
        let turn = FanoutSlot.Turn(priority: priority, entryMs: parts[0], entrySequence: parts[1], job: number)
        state.jobs.append(JobRecord(number: number, kind: kind, total: total, turn: turn))
        state.entries.append((number, 0))
        let answer = state.intake(number, lease: taker, window: 2, parts[0], referee: referee)
        switch (reply, answer) {
        case (.queued, .queued): break
        case (.taken(let epoch, _, let text), .taken(let given, _)):
            let list = RecipientList((0..<total).map { "t\($0)" })
            let claim = Claim(job: job.id, epoch: epoch, watermark: 2, taken: list)
            let compact = text.map {
                CompactJob(id: job.id, entryID: entry, spec: call.spec, keepMs: call.keepMs, held: $0)
            }
            held.append(Held(worker: taker ?? 0, claim: claim, given: given, compact: compact))
        default: Issue.record("intake of job \(number): \(reply) and \(answer)")
        }
    }

    /// Sends a call, or the short one that stands for it.
    private func send(
        _ call: RedisCommand,
        short: RedisCommand?,
        as function: FunctionLibrary.Coalesced
    ) async throws -> RedisValue {
        guard let short else { return try await client.send(call) }
        return try await client.send(FunctionLibrary.coalesce(function, keys, [short])).array?.first ?? .null
    }

    private mutating func claim(_ worker: Int) async throws {
        let most = dice.chance(0.2) ? 64 : dice.int(1...6)
        let wanted = dice.int(0...4_000)
        let single = dice.int(0...10)
        // The server may free the batches of a dead worker in any order, so the claim has room for all of them.
        let isFree = state.ending.contains { state.jobs[$0].orphans.count > 1 }
        // It may also delay the next check of ending jobs. Here all are due at once, in the order of their names.
        state.ending.sort()
        for job in state.ending {
            _ = try await client.send(RedisCommand("ZADD", keys.base + "ending", "XX", "0", "j\(job)"))
        }
        let grants: [ClaimCall.Quarantine?] = [nil] + ClaimCall.Quarantine.allCases
        let grant = dice.pick(grants)
        var call = ClaimCall(
            worker: "w\(worker)",
            most: most,
            wanted: wanted,
            wantedSingle: single,
            window: 2,
            retries: 1_000,
            quotaPerMinute: 600_000
        )
        call.quarantine = grant
        call.endings = isFree ? 200 : dice.chance(0.5) ? nil : dice.int(0...8)
        guard case .reply(let reply)? = ClaimReply.parse(try await client.send(call.command(keys))) else {
            throw TestFailure("the claim was fenced or could not be parsed")
        }
        nowMs = reply.nowMs
        call.worker = String(worker)
        let claimed = state.claim(call, nowMs, referee: referee)
        let answer = try #require(claimed)
        #expect(reply.suspect == answer.suspect)
        try pair(reply.claims, answer.claims, worker)
        let active = try await client.send(RedisCommand("HKEYS", keys.base + "active")).array ?? []
        #expect(active.compactMap(\.string).sorted() == state.slot.active.map { "j\($0.turn.job)" }.sorted())
        let queue = try await client.send(RedisCommand("ZRANGE", keys.base + "queue", "0", "-1")).array ?? []
        let waiting = queue.compactMap { $0.string.flatMap { JobInquiry.job(ofMember: $0) } }
        #expect(waiting == state.slot.waiting.map { "j\($0.job)" })
    }

    private mutating func pair(_ claims: [Claim], _ given: [Given], _ worker: Int) throws {
        let sorted = claims.sorted { text($0) < text($1) }
        let expected = given.sorted { text($0) < text($1) }
        let libraryClaims = sorted.map { text($0) }
        let modelClaims = expected.map { text($0) }
        #expect(
            libraryClaims.filter { !modelClaims.contains($0) }.map { $0.prefix(120) }
                == modelClaims.filter { !libraryClaims.contains($0) }.map { $0.prefix(120) }
        )
        guard sorted.count == expected.count else { throw TestFailure("the claims differ from the model's") }
        for claim in claims {
            let epoch = try #require(Int64(claim.epoch))
            #expect(epoch > lastEpoch)
            lastEpoch = max(lastEpoch, epoch)
        }
        for (claim, given) in zip(sorted, expected) {
            var given = given
            if claim.pass == .retry, claim.deliveries == 1 {
                // The server chooses the order of a retry batch, and the watermark counts in that order.
                given.indexes = claim.recipients.map(\.index)
                state.batches[given.name]?.indexes = given.indexes
            }
            held.append(Held(worker: worker, claim: claim, given: given))
        }
    }

    /// A comparable text of a batch, sorted by recipient because the order of a retry batch is not guaranteed.
    private func text(_ claim: Claim) -> String {
        let fates = claim.recipients.sorted { $0.index < $1.index }.map { recipient in
            switch recipient.progress {
            case .unsent: "\(recipient.index)u\(recipient.history.attempts)"
            case .maybeSent: "\(recipient.index)m\(recipient.history.attempts)"
            case .settled: "\(recipient.index)f"
            }
        }
        let name = claim.pass == .retry ? "retry" : claim.batch
        let ending = claim.ending ?? "-"
        return "\(claim.job)/\(name) \(claim.watermark) \(claim.deliveries) \(ending) \(claim.isQuarantined) "
            + fates.joined(separator: " ")
    }

    private func text(_ given: Given) -> String {
        let fates = given.indexes.indices.sorted { given.indexes[$0] < given.indexes[$1] }.map { at in
            switch given.fates[at] {
            case .unsent: "\(given.indexes[at])u\(given.histories[at].attempts)"
            case .maybeSent: "\(given.indexes[at])m\(given.histories[at].attempts)"
            case .finished: "\(given.indexes[at])f"
            }
        }
        let name = given.name.isRetry ? "retry" : "\(given.name.part)"
        let ending = given.ending?.rawValue ?? "-"
        return "j\(given.name.job)/\(name) \(given.watermark) \(given.deliveries) \(ending) \(given.isQuarantined) "
            + fates.joined(separator: " ")
    }

    // MARK: Results

    private mutating func record(_ at: Int, closes: Bool = false) async throws {
        let item = held[at]
        // Dead workers may not decide, so their batches are skipped until another worker takes them over.
        guard state.batches[item.given.name]?.owner != 0 else {
            held.remove(at: at)
            return
        }
        let isClosing = closes || dice.chance(0.6)
        var call = RecordCall(job: item.claim.job, batch: item.claim.batch, epoch: item.claim.epoch)
        call.number = Int(nowMs % 1_000_000) + 1
        call.finish = isClosing
        call.allSent = isClosing || dice.chance(0.3)
        if dice.chance(0.3) {
            call.watermark = min(item.given.indexes.count, dice.int(1...2_000))
        }
        for (position, index) in item.given.indexes.enumerated() where item.given.fates[position] != .finished {
            guard isClosing || dice.chance(0.5) else { continue }
            if !closes, item.given.ending == .none, dice.chance(0.01) {
                let isDue = dice.chance(0.8)
                let dueMs: Int64 = isDue ? 1 : 2
                call.retries.append(
                    RecordCall.Retry(
                        index: index,
                        dueMs: dueMs,
                        parked: false,
                        packed: RecipientHistory(attempts: 1, firstAttemptMs: 1).packed(with: "t\(index)")
                    )
                )
            } else {
                call.results.append(index: index, status: .sent)
            }
        }
        if item.compact != nil, isClosing { (call.number, call.compact, call.watermark) = (1, item.compact, nil) }
        held[at].compact = nil
        let worker = "w\(item.worker)"
        let reply = try #require(
            RecordReply(
                try await send(
                    call.command(keys, worker: worker),
                    short: call.shortCall(worker: worker),
                    as: .record
                )
            )
        )
        // The library may have given the batch another epoch than the model.
        call.epoch = String(item.given.epoch)
        call.batch = item.given.name.batch
        let request = try #require(RecordRequest(call, lease: item.worker))
        let answer = state.record(request, nowMs, referee: referee)
        var goesOn = !isClosing
        #expect(reply == answer, "record of \(item.claim.job)/\(item.claim.batch)")
        if reply == .stale || reply == .gone { goesOn = false }
        if !goesOn { held.remove(at: at) }
    }

    // MARK: Deaths and operators

    private mutating func declareDead(_ worker: Int) async throws {
        guard !state.jobs.contains(where: \.isPaused),
            !held.contains(where: {
                $0.worker == worker && $0.given.isQuarantined && state.jobs[$0.given.name.job].ending != .none
            })
        else { return }
        let lease = try #require(state.leases.first { $0.lease == worker })
        let counter = try #require(
            try await client.send(RedisCommand("HGET", keys.base + "leases", "w\(worker)")).string
        )
        let freed = try await client.send(FunctionLibrary.declareDead(keys, worker: "w\(worker)", counter: counter))
            .integer
        #expect(freed.map { Int($0) } == state.declareDead(worker, counter: lease.counter, nowMs, referee: referee))
        workers.removeAll { $0 == worker }
    }

    private mutating func pauseOrResume() async throws {
        if let paused = state.jobs.first(where: \.isPaused) { return try await resume(paused.number) }
        guard let job = state.jobs.first(where: { !$0.isOver && $0.isOpen && !$0.isParked }),
            !state.suspects.contains(where: { $0.job == job.number }), job.orphans.isEmpty,
            !state.orphans.contains(where: { $0.job == job.number })
        else { return }
        _ = try await client.send(FunctionLibrary.pause(keys, job: "j\(job.number)"))
        state.pause(job.number, nowMs, referee: referee)
    }

    private mutating func resume(_ job: Int) async throws {
        _ = try await client.send(FunctionLibrary.resume(keys, job: "j\(job)"))
        state.resume(job, referee: referee)
    }

    private mutating func replay(_ job: Int) async throws {
        for value in try await client.send(RedisCommand("XRANGE", keys.base + "dead", "-", "+")).array ?? [] {
            guard let entry = StreamEntry(value),
                entry.fields.contains(where: { $0.name == "job" && $0.value == Array("j\(job)".utf8) })
            else { continue }
            _ = try await client.send(FunctionLibrary.replay(keys, entryID: entry.id))
        }
        state.replay(job, referee: referee)
    }

    private mutating func cancel(_ job: Int) async throws {
        _ = try await client.send(FunctionLibrary.cancel(keys, job: "j\(job)"))
        state.end(job, .cancelled, nowMs, referee: referee)
    }
}
