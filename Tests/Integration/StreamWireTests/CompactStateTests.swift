import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// What a careless hand leaves in the keys of compact jobs stops no other job, and no job is lost silently.
@Suite struct CompactStateTests {
    private let keys = LibraryBench.keys
    private static let text = LibraryBench.keys.base + "compact"
    private static let notes = LibraryBench.keys.base + "compact:w1"

    // MARK: Texts

    /// What stands in the place of a job's text.
    enum BrokenText: String, CaseIterable {
        case empty, cut, longer, binary, later, hugeLengths, noWords, anotherJobs, noNumber

        func bytes(of text: String) -> [UInt8] {
            switch self {
            case .empty: []
            case .cut: Array(text.utf8.prefix(text.utf8.count / 2))
            case .longer: Array((text + "x").utf8)
            case .binary: Array(0...255)
            case .later: Array(("v4;" + text).utf8)
            case .hugeLengths: Array((String(repeating: "99999999999999999999,", count: 18) + ":x").utf8)
            case .noWords: Array(":".utf8)
            case .anotherJobs: Array(text.replacing("-0j1", with: "-0k1").utf8)
            case .noNumber: Array(text.replacing("3600000", with: "36x0000").utf8)
            }
        }
    }

    private func spoil(_ id: String, _ broken: BrokenText, _ bench: LibraryBench) async throws {
        let text = try #require(try await bench.call(RedisCommand("HGET", Self.text, id)).string)
        var command = RedisCommand("HSET", Self.text, id)
        command.append(broken.bytes(of: text))
        #expect(try await bench.call(command).integer == 0)
        #expect(try await bench.call(RedisCommand("HGET", Self.text, id)).bytes != Array(text.utf8))
    }

    /// The worker that has the job ends it as ever; meanwhile nothing else does.
    @Test(arguments: BrokenText.allCases) func brokenTextIsItsWorkersAlone(broken: BrokenText) async throws {
        try await withBench { bench in
            let (job, other) = (try await bench.compact("j"), try await bench.compact("other", by: "w2"))
            try await spoil("j", broken, bench)
            let note = try #require(try await bench.call(RedisCommand("HGET", Self.notes, "j")).string)
            try await setNote("\(job.epoch) 1", bench)
            #expect(try await claims(bench).isEmpty)
            for call in [FunctionLibrary.cancel(keys, job: "j"), JobInquiry.expand(keys, job: "j")] {
                let error = try #require(await #expect(throws: RedisError.self) { try await bench.call(call) })
                #expect("\(error)".contains("the job goes to dead once no worker has it"))
            }
            #expect(try await bench.finish(other, "w2") == .ok())
            try await setNote(note, bench)
            #expect(try await bench.finish(job) == .ok())
            #expect(try await bench.job("j")["sent"] == "1")
            #expect(try await remaining(bench) == [])
        }
    }

    @Test(arguments: BrokenText.allCases) func brokenTextOfADeadWorkerGoesToDead(broken: BrokenText) async throws {
        try await withBench { bench in
            for id in ["j", "other"] { _ = try await bench.compact(id) }
            try await spoil("j", broken, bench)
            let left = try #require(try await bench.call(RedisCommand("HGET", Self.text, "j")).bytes)
            try await bench.declareDead("w1")
            let claim = try #require(try await claims(bench).first)
            #expect(claim.job == "other")
            try await bench.finish(claim, "w2")
            let dead = try await bench.call(RedisCommand("XRANGE", keys.dead, "-", "+")).array ?? []
            let fields = dead.first?.array?.last?.array ?? []
            #expect(dead.count == 1 && fields.contains(.bulk(left)))
            try await expectLost("j", bench)
            #expect(try await remaining(bench) == [])
        }
    }

    /// Neither a note nor a whole text: a claim finds the job.
    @Test func brokenTextOfNoWorkerGoesToDead() async throws {
        try await withBench { bench in
            _ = try await bench.compact("j")
            try await spoil("j", .cut, bench)
            _ = try await bench.call(RedisCommand("HDEL", Self.notes, "j"))
            #expect(try await claims(bench).isEmpty)
            try await expectLost("j", bench)
            #expect(try await remaining(bench) == [])
        }
    }

    /// What may happen to a job of which only the note is left.
    enum End: String, CaseIterable { case result, retry, death, reconciliation, leave }

    @Test(arguments: End.allCases) func noteWithoutATextIsNoSilentLoss(end: End) async throws {
        try await withBench { bench in
            let job = try await bench.compact("j")
            _ = try await bench.call(RedisCommand("HDEL", Self.text, "j"))
            switch end {
            case .result: #expect(try await bench.finish(job) == .ok())
            case .retry: #expect(try await bench.record(retry(job), "w1") == .gone)
            case .death: try await bench.declareDead("w1")
            case .reconciliation:
                _ = try await bench.call(FunctionLibrary.reconcile(keys, worker: "w1", isSameServer: true, known: []))
            case .leave: _ = try await bench.call(FunctionLibrary.deregister(keys, worker: "w1"))
            }
            #expect(try await claims(bench).isEmpty)
            if end == .result {
                #expect(try await bench.job("j")["sent"] == "1")
            } else {
                try await expectLost("j", bench)
            }
            #expect(try await remaining(bench) == [])
        }
    }

    /// While Redis refuses a part of giving a job up, `dead` names it once, and the count of recipients stays right.
    @Test(arguments: ["pexpire", "zadd", "hdel"]) func jobThatCannotBeGivenUpIsNamedOnce(command: String) async throws {
        try await withBench { bench in
            _ = try await bench.compact("j")
            try await spoil("j", .cut, bench)
            _ = try await bench.call(RedisCommand("HDEL", Self.notes, "j"))
            _ = try await bench.call(RedisCommand("ACL", "SETUSER", "default", "-\(command)"))
            for _ in 0..<3 { _ = try? await claims(bench) }
            var others: [CompactJob] = []
            for number in 0..<3 { others.append(try await bench.compact("other\(number)")) }
            _ = try await bench.call(RedisCommand("ACL", "SETUSER", "default", "+\(command)"))
            for other in others { #expect(try await bench.finish(other) == .ok()) }
            #expect(try await claims(bench).isEmpty)
            try await expectLost("j", bench)
            #expect(try await remaining(bench) == [])
        }
    }

    /// The entry waits, and is no reason to read fewer others.
    @Test func pushWithTheIDOfABrokenTextWaits() async throws {
        try await withBench { bench in
            _ = try await bench.compact("j")
            try await spoil("j", .cut, bench)
            let call = bench.intakeCall(try await bench.readJob("j"), taker: "w1").command(keys)
            let error = try #require(await #expect(throws: RedisError.self) { try await bench.call(call) })
            #expect(error.code.rawValue == IntakeReply.ending && "\(error)".contains("is broken"))
        }
    }

    // MARK: Notes

    /// A note that came into the hash of another worker takes nothing from the job.
    @Test func noteInTheWrongPlaceGoes() async throws {
        try await withBench { bench in
            _ = try await bench.compact("j")
            let wrong = keys.base + "compact:w2"
            _ = try await bench.call(RedisCommand("RENAME", Self.notes, wrong))
            for _ in 0..<2 {
                _ = try await bench.call(FunctionLibrary.reconcile(keys, worker: "w2", isSameServer: true, known: []))
            }
            let claim = try #require(try await claims(bench).first)
            try await bench.finish(claim, "w2")
            #expect(try await bench.call(RedisCommand("EXISTS", keys.dead)).integer == 0)
            #expect(try await remaining(bench) == [])
        }
    }

    /// What leads to a job whose note is lost or broken.
    enum Finder: String, CaseIterable { case claim, result, retry, death }

    /// The job goes to the next worker, which knows that it may have been sent; the result of the first one counts.
    @Test(arguments: [nil, "", "x y", "5", "\(UInt64.max)0 5", "\u{0}\u{1}"], Finder.allCases)
    func jobWithoutANoteGoesToTheNextWorker(note: String?, finder: Finder) async throws {
        try await withBench { bench in
            let job = try await bench.compact("j")
            if let note {
                try await setNote(note, bench)
            } else {
                _ = try await bench.call(RedisCommand("HDEL", Self.notes, "j"))
            }
            switch finder {
            case .claim: break
            case .result: #expect(try await bench.finish(job) == .stale)
            case .retry: #expect(try await bench.record(retry(job), "w1") == .stale)
            case .death: try await bench.declareDead("w1")
            }
            let claim = try #require(try await claims(bench).first)
            #expect(claim.recipients.map(\.progress) == [.maybeSent])
            if finder == .result {
                var late = bench.record(of: job, id: "j")
                late.late = true
                #expect(try await bench.record(late, "w1") == .ok())
            } else {
                try await bench.finish(claim, "w2")
            }
            #expect(try await bench.job("j")["sent"] == "1")
            #expect(try await remaining(bench) == [])
        }
    }

    /// An error in the middle does not lose the job.
    @Test func jobWithoutANoteIsFreedAfterAnError() async throws {
        try await withBench { bench in
            _ = try await bench.compact("j")
            _ = try await bench.call(RedisCommand("HDEL", Self.notes, "j"))
            _ = try await bench.call(RedisCommand("ACL", "SETUSER", "default", "-rpush"))
            await #expect(throws: RedisError.self) { try await bench.call(JobInquiry.expand(keys, job: "j")) }
            #expect(try await bench.names().contains("spec:j"))
            _ = try await bench.call(RedisCommand("ACL", "SETUSER", "default", "+rpush"))
            let claim = try #require(try await claims(bench).first)
            #expect(claim.recipients.map(\.progress) == [.maybeSent])
            try await bench.finish(claim, "w2")
            #expect(try await remaining(bench) == [])
        }
    }

    /// A hand-over that failed leaves a text without a note, too: its entry is still in `jobs`, and is handed over once.
    @Test func textOfAFailedHandOverIsNoJob() async throws {
        try await withBench { bench in
            let call = bench.intakeCall(try await bench.readJob("own"), taker: "w1")
            let short = FunctionLibrary.coalesce(.intake, keys, [try #require(call.shortCall())])
            _ = try await bench.call(RedisCommand("ACL", "SETUSER", "default", "-set"))
            _ = try await bench.call(short)
            _ = try await bench.call(RedisCommand("ACL", "SETUSER", "default", "+set"))
            #expect(try await bench.call(RedisCommand("HLEN", Self.text)).integer == 1)
            #expect(try await claims(bench).isEmpty)
            #expect(try await bench.call(RedisCommand("HLEN", Self.text)).integer == 0)
            let reply = try await bench.call(short).array?.first.flatMap(IntakeReply.init)
            guard case .taken(_, _, let held?)? = reply else { throw TestFailure("\(String(describing: reply))") }
            #expect(try await bench.finish(call.compactJob(held: held)) == .ok())
        }
    }

    // MARK: Keys

    /// A worker whose key has another type takes jobs the long way, and is freed all the same.
    @Test func workersKeyOfAnotherTypeStopsNoOtherJob() async throws {
        try await withBench { bench in
            let job = try await bench.compact("j")
            _ = try await bench.call(RedisCommand("SET", Self.notes, "no hash"))
            #expect(await isRefused(job, bench))
            guard case .taken(_, _, nil)? = try await bench.takeCompact("long").reply else {
                throw TestFailure("not taken the long way")
            }
            let other = try await bench.compact("other", by: "w2")
            #expect(try await bench.finish(other, "w2") == .ok())
            let fault = RedisFault.type(key: Self.notes, found: "string", needed: "hash")
            #expect(RedisFault.parse(try await bench.call(FunctionLibrary.check(keys))) == [fault])
            try await bench.declareDead("w1")
            #expect(try await claims(bench).map(\.job) == ["long"])
            _ = try await bench.call(RedisCommand("DEL", Self.notes))
            #expect(try await claims(bench).map(\.job) == ["j"])
            // What is left of the dead worker goes with the next call.
            try await bench.declareDead("w1")
            #expect(try await bench.call(RedisCommand("HEXISTS", keys.base + "leases", "w1")).integer == 0)
        }
    }

    @Test func textsKeyOfAnotherTypeLosesNothing() async throws {
        try await withBench { bench in
            let (first, second) = (try await bench.compact("a"), try await bench.compact("b"))
            _ = try await bench.call(RedisCommand("RENAME", Self.text, "aside"))
            _ = try await bench.call(RedisCommand("SET", Self.text, "no hash"))
            await #expect(throws: RedisError.self) { try await bench.claim("w2") }
            #expect(await isRefused(first, bench))
            let fault = RedisFault.type(key: Self.text, found: "string", needed: "hash")
            #expect(RedisFault.parse(try await bench.call(FunctionLibrary.check(keys))) == [fault])
            _ = try await bench.call(RedisCommand("RENAME", "aside", Self.text))
            // The result was written before the error.
            #expect(try await bench.finish(first) == .gone)
            #expect(try await bench.finish(second) == .ok())
            for id in ["a", "b"] { #expect(try await bench.job(id)["sent"] == "1") }
            #expect(try await bench.call(RedisCommand("XLEN", keys.base + "results")).integer == 2)
            #expect(try await remaining(bench) == [])
        }
    }

    /// Names without a lease and without jobs go; a worker that cannot be freed stays, and stops no other.
    @Test func unknownHoldersAreFreed() async throws {
        try await withBench { bench in
            _ = try await bench.compact("j")
            _ = try await bench.call(RedisCommand("HDEL", keys.base + "leases", "w1"))
            _ = try await bench.call(RedisCommand("SADD", keys.base + "holders", "a", "none"))
            _ = try await bench.call(RedisCommand("SET", keys.base + "claims:a", "no set"))
            _ = try await bench.call(FunctionLibrary.repair(keys, cursor: "0", most: 10))
            let holders = try await bench.words(RedisCommand("SMEMBERS", keys.base + "holders")).sorted()
            #expect(holders == ["a", "w2"])
            #expect(try await claims(bench).map(\.job) == ["j"])
            let fault = RedisFault.type(key: keys.base + "claims:a", found: "string", needed: "set")
            #expect(RedisFault.parse(try await bench.call(FunctionLibrary.check(keys))) == [fault])
        }
    }

    /// An older worker declares one dead, and does not know its compact jobs.
    @Test func jobOfALostHolderIsFound() async throws {
        try await withBench { bench in
            _ = try await bench.compact("j")
            _ = try await bench.call(RedisCommand("SREM", keys.base + "holders", "w1"))
            _ = try await bench.call(RedisCommand("HDEL", keys.base + "leases", "w1"))
            try await setNote("1795974098301 1", bench)
            #expect(try await claims(bench).isEmpty)
            _ = try await bench.call(FunctionLibrary.repair(keys, cursor: "0", most: 10))
            #expect(try await claims(bench).map(\.job) == ["j"])
        }
    }

    /// A batch of a dead worker, or of one that compares its batches with Redis.
    @Test(arguments: [true, false]) func brokenBatchStopsNoOther(isDead: Bool) async throws {
        try await withBench { bench in
            guard case .taken = try await bench.intake(try await bench.readJob("a"), taker: "w1") else {
                throw TestFailure("not taken")
            }
            _ = try await bench.compact("b")
            _ = try await bench.call(RedisCommand("SET", keys.base + "b:a/0", "no hash"))
            let comparison = FunctionLibrary.reconcile(keys, worker: "w1", isSameServer: true, known: [])
            if isDead { try await bench.declareDead("w1") } else { _ = try await bench.call(comparison) }
            #expect(try await claims(bench).map(\.job) == ["b"])
        }
    }

    // MARK: Expansions that an error stops

    /// The result then expands the job again, and leaves none of its keys.
    @Test func resultAfterAPartialExpansionLeavesNoKeys() async throws {
        try await withBench { bench in
            let job = try await bench.compact("j")
            _ = try await bench.call(RedisCommand("SET", keys.base + "jobs_open", "no set"))
            await #expect(throws: RedisError.self) { try await bench.call(JobInquiry.expand(keys, job: "j")) }
            #expect(try await bench.names().contains("rcpt:j"))
            #expect(await isRefused(job, bench))
            _ = try await bench.call(RedisCommand("DEL", keys.base + "jobs_open"))
            #expect(try await bench.finish(job) == .ok())
            #expect(try await remaining(bench) == [])
        }
    }

    /// The job's end must find what an error left of a long call.
    @Test func jobWithKeysOfAFailedIntakeIsNotCompact() async throws {
        try await withBench { bench in
            let job = try await bench.readJob(nil)
            let recipients = keys.base + "rcpt:" + job.id
            _ = try await bench.call(RedisCommand("SET", recipients, "no hash"))
            await #expect(throws: RedisError.self) { try await bench.intake(job, taker: "w1") }
            _ = try await bench.call(RedisCommand("DEL", recipients))
            let short = try #require(bench.intakeCall(job, taker: "w1").shortCall())
            let reply = try await bench.call(FunctionLibrary.coalesce(.intake, keys, [short])).array?.first
            guard case .taken(let epoch, _, nil)? = reply.flatMap(IntakeReply.init) else {
                throw TestFailure("\(String(describing: reply))")
            }
            var record = RecordCall(job: job.id, batch: "0", epoch: epoch)
            record.results = ResultBuffer([bench.sent(0)])
            record.finish = true
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await remaining(bench) == [])
        }
    }

    // MARK: Helpers

    private func setNote(_ note: String, _ bench: LibraryBench) async throws {
        _ = try await bench.call(RedisCommand("HSET", Self.notes, "j", note))
    }

    /// What `w2` gets. Its claims look at compact jobs that wait.
    private func claims(_ bench: LibraryBench) async throws -> [Claim] {
        for _ in 0..<20 {
            _ = try await bench.call(RedisCommand("HDEL", keys.base + "ctl", "looked"))
            let claims = try await bench.claim("w2").claims
            if !claims.isEmpty { return claims }
        }
        return []
    }

    private func retry(_ job: CompactJob) -> RecordCall {
        var record = RecordCall(job: "j", batch: "0", epoch: job.epoch)
        let history = RecipientHistory(attempts: 1, firstAttemptMs: 1, maybeDuplicate: false)
        record.retries = [.init(index: 0, dueMs: 1, parked: false, packed: history.packed(with: "t0"))]
        record.finish = true
        return record
    }

    private func isRefused(_ job: CompactJob, _ bench: LibraryBench) async -> Bool {
        // An error of one call of several is no reply.
        let reply = try? await bench.finish(job)
        return reply == nil
    }

    /// The job's hash and an entry of `dead` name it.
    private func expectLost(_ id: String, _ bench: LibraryBench) async throws {
        let job = try await bench.job(id)
        #expect(job["state"] == "rejected" && job["reason"]?.hasPrefix("lost: ") == true)
        #expect(try await bench.call(RedisCommand("XLEN", keys.dead)).integer == 1)
    }

    /// Private keys of jobs that no job needs any more, and recipients that count as open.
    private func remaining(_ bench: LibraryBench) async throws -> [String] {
        let left = try await bench.call(RedisCommand("HGET", keys.base + "ctl", "left")).string ?? ""
        let prefixes = ["compact", "claims", "spec:", "rcpt:", "b:", "wait:", "jobs_open", "orphans", "redo"]
        return try await bench.names().filter { name in prefixes.contains { name.hasPrefix($0) } }
            + (left == "0" ? [] : ["left \(left)"])
    }
}
