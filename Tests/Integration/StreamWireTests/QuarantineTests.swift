import FanfareModel
import StreamWire
import TestSupport
import Testing

/// Batches whose workers die, in a real server.
@Suite struct QuarantineTests {
    @Test func crashingBatchIsQuarantinedAndThenParked() async throws {
        try await withBench { bench in
            try await bench.intake("pill", tokens(2))
            for crash in 1...3 {
                try await bench.register("c\(crash)")
                let claims = try await bench.claim("c\(crash)").claims
                #expect(claims.map(\.job) == ["pill"])
                #expect(claims.map(\.deliveries) == [crash])
                try await bench.declareDead("c\(crash)")
            }
            // The worker claims nothing while it holds a batch, and then only the suspect. Other workers claim the rest.
            let taken = try await bench.intake("busy", tokens(1), taker: "w1")
            guard case .taken(let epoch, _, _) = taken else { throw TestFailure("not taken") }
            try await bench.intake("good", tokens(1))
            let nothing = try await bench.claim("w1").claims
            #expect(nothing.isEmpty)
            let rest = try await bench.claim("w2").claims
            #expect(rest.map(\.job) == ["good"])
            try await bench.finish(Claim(job: "busy", epoch: epoch, watermark: 128, taken: ["t0"]), "w1")
            let alone = try await bench.claim("w1").claims
            #expect(alone.map(\.job) == ["pill"])
            #expect(alone.first?.isQuarantined == true)
            try await bench.intake("more", tokens(1))
            let stillAlone = try await bench.claim("w1").claims
            #expect(stillAlone.isEmpty)

            try await bench.declareDead("w1")
            let job = try await bench.job("pill")
            #expect(job["state"] == "parked")
            #expect(job["reason"] == "poison: batch 0 took its worker down 4 times in a row")
            let dead = try await bench.call(RedisCommand("XRANGE", bench.keys.dead, "-", "+")).array ?? []
            let fields = dead.first?.array?[1].array?.compactMap(\.string) ?? []
            #expect(fields.contains("crashes"))
            #expect(fields.contains("f.message"))
            // The page Results describes the fields of an entry.
            let page = try Set(PageTable(page: "Results", section: "## dead").names)
            let names = stride(from: 0, to: fields.count, by: 2).map { fields[$0] }.filter { !$0.hasPrefix("f.") }
            #expect(page.symmetricDifference(names) == ["f.<field>"])
            let others = try await bench.claim("w2").claims
            #expect(others.map(\.job) == ["more"])

            let entry = try #require(dead.first?.array?.first?.string)
            let replayed = try await bench.words(FunctionLibrary.replay(bench.keys, entryID: entry))
            #expect(replayed == ["resumed", "pill"])
            let back = try await bench.claim("w2").claims
            #expect(back.map(\.job) == ["pill"])
            #expect(back.first?.isQuarantined == false)
        }
    }

    @Test func crashingRetryIsQuarantinedAndThenParked() async throws {
        try await withBench { bench in
            try await bench.intake("pill", tokens(2))
            // Each worker schedules a retry of the recipients that may have been sent, and dies.
            var alone: Claim?
            for crash in 1...8 where alone == nil {
                let name = "c\(crash)"
                try await bench.register(name)
                for claim in try await bench.claim(name).claims {
                    if claim.isQuarantined { alone = claim }
                    let doubtful = claim.recipients.filter { $0.progress == .maybeSent }
                    guard alone == nil, !doubtful.isEmpty else { continue }
                    var call = RecordCall(job: "pill", batch: claim.batch, epoch: claim.epoch)
                    let history = RecipientHistory(attempts: crash, firstAttemptMs: 1, maybeDuplicate: true)
                    call.retries = doubtful.map {
                        .init(index: $0.index, dueMs: 1, parked: false, packed: history.packed(with: $0.value))
                    }
                    call.finish = true
                    #expect(try await bench.record(call, name) == .ok())
                    _ = try await bench.claim(name)
                }
                try await bench.declareDead(name)
            }
            #expect(alone != nil)
            let job = try await bench.job("pill")
            #expect(job["state"] == "parked")
        }
    }

    // MARK: Beside other projects

    /// A claim of a worker that says what its process allows.
    private func claim(_ bench: LibraryBench, _ worker: String, _ grant: ClaimCall.Quarantine) async throws
        -> ClaimReply
    {
        var call = ClaimCall(
            worker: worker,
            most: 10,
            wanted: 10_000,
            wantedSingle: 10_000,
            window: 128,
            retries: 1_000,
            quotaPerMinute: 600_000
        )
        call.quarantine = grant
        return try await bench.claim(call)
    }

    /// Three workers died while they held the job `pill`.
    private func makeSuspect(_ bench: LibraryBench) async throws {
        try await bench.intake("pill", tokens(2))
        for crash in 1...3 {
            try await bench.register("c\(crash)")
            #expect(try await claim(bench, "c\(crash)", .none).claims.map(\.job) == ["pill"])
            try await bench.declareDead("c\(crash)")
        }
    }

    @Test func workerClaimsAsAlwaysUntilItsProcessAllowsTheQuarantine() async throws {
        try await withBench { bench in
            try await makeSuspect(bench)
            try await bench.intake("good", tokens(1))
            let first = try await claim(bench, "w1", .none)
            #expect(first.claims.map(\.job) == ["good"] && first.suspect == .shared)
            #expect(
                try await claim(bench, "w2", .none).suspect == nil,
                "one worker runs a project's quarantined batches"
            )
            try await bench.intake("more", tokens(1))
            #expect(try await claim(bench, "w1", .busy).claims.isEmpty)
            #expect(try await claim(bench, "w1", .shared).claims.isEmpty, "it holds another batch")
            try await bench.finish(try #require(first.claims.first), "w1")
            let suspect = try #require(try await claim(bench, "w1", .shared).claims.first)
            #expect(suspect.job == "pill" && suspect.isQuarantined && suspect.crashes == 3)
            #expect(try await claim(bench, "w1", .busy).claims.isEmpty)
            let reason = "quarantined: batch \(suspect.batch) took its worker down 3 times in a row"
            #expect(try await bench.job("pill")["reason"] == reason)
            try await bench.finish(suspect, "w1")
            #expect(try await bench.job("pill")["reason"] == nil, "a result ends the quarantine")
            #expect(try await claim(bench, "w1", .none).claims.map(\.job) == ["more"])
        }
    }

    /// Its process died of something else while the batch waited for its turn.
    @Test func deathBeforeTheQuarantineCountsNothing() async throws {
        try await withBench { bench in
            try await makeSuspect(bench)
            for death in 1...3 {
                try await bench.register("d\(death)")
                #expect(try await claim(bench, "d\(death)", .none).suspect == .shared)
                try await bench.declareDead("d\(death)")
            }
            #expect(try await claim(bench, "w1", .none).suspect == .shared)
            #expect(try await bench.job("pill")["state"] == "active")
        }
    }

    /// A death beside other projects may be theirs; one in an exclusive quarantine is the batch's.
    @Test func onlyADeathInAnExclusiveQuarantineParks() async throws {
        try await withBench { bench in
            try await makeSuspect(bench)
            #expect(try await claim(bench, "w1", .shared).claims.map(\.job) == ["pill"])
            try await bench.declareDead("w1")
            #expect(try await bench.job("pill")["state"] == "active")
            let reply = try await claim(bench, "w2", .none)
            #expect(reply.suspect == .exclusive)
            let suspect = try #require(try await claim(bench, "w2", .exclusive).claims.first)
            #expect(suspect.crashes == 4)
            try await bench.declareDead("w2")
            let job = try await bench.job("pill")
            #expect(job["state"] == "parked")
            #expect(job["reason"] == "poison: batch 0 took its worker down 5 times in a row")
        }
    }

    /// Alone, the batch did not kill its worker; beside others it may.
    @Test func batchThatIsGivenBackFromAnExclusiveQuarantineIsSharedAgain() async throws {
        try await withBench { bench in
            try await makeSuspect(bench)
            _ = try await claim(bench, "w1", .shared)
            try await bench.declareDead("w1")
            let alone = try #require(try await claim(bench, "w2", .exclusive).claims.first)
            let given = FunctionLibrary.release(bench.keys, worker: "w2", batch: alone.name, epoch: alone.epoch)
            #expect(try await bench.call(given).integer == 1)
            #expect(try await claim(bench, "w2", .none).suspect == .shared)
            #expect(try await claim(bench, "w2", .shared).claims.map(\.job) == ["pill"])
            try await bench.declareDead("w2")
            #expect(try await bench.job("pill")["state"] == "active")
            try await bench.register("w3")
            #expect(try await claim(bench, "w3", .none).suspect == .exclusive, "the next death is another one")
            #expect(try await claim(bench, "w3", .exclusive).claims.first?.crashes == 5)
        }
    }

    /// Redis came back with an older state while the batch was alone: its next worker runs it beside others.
    @Test func batchThatWasAloneIsNotAloneWithItsNextWorker() async throws {
        try await withBench { bench in
            try await makeSuspect(bench)
            let alone = try #require(try await claim(bench, "w1", .exclusive).claims.first)
            let known = FunctionLibrary.KnownBatch(name: alone.name, call: 7, watermark: 1)
            let compare = FunctionLibrary.reconcile(bench.keys, worker: "w1", isSameServer: false, known: [known])
            #expect(ReconcileReply(try await bench.call(compare))?.lost == [alone.name])
            #expect(try await claim(bench, "w1", .shared).claims.map(\.job) == ["pill"])
            try await bench.declareDead("w1")
            #expect(try await bench.job("pill")["state"] == "active")
        }
    }

    /// Nothing holds the project back while an operator has paused it, or while it is held.
    @Test func pausedProjectAsksForNoQuarantine() async throws {
        try await withBench { bench in
            try await makeSuspect(bench)
            _ = try await bench.call(FunctionLibrary.pauseProject(bench.keys, reason: "why"))
            #expect(try await claim(bench, "w1", .none).suspect == nil)
            _ = try await bench.call(FunctionLibrary.resumeProject(bench.keys))
            #expect(try await claim(bench, "w1", .none).suspect == .shared)
        }
    }

    @Test func batchWithAResultIsNotQuarantined() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(10))
            for crash in 1...5 {
                let name = "c\(crash)"
                try await bench.register(name)
                let claim = try #require(try await bench.claim(name).claims.first)
                #expect(!claim.isQuarantined)
                var call = RecordCall(job: "a", batch: claim.batch, epoch: claim.epoch)
                call.results = ResultBuffer([bench.sent(crash)])
                #expect(try await bench.record(call, name) == .ok())
                try await bench.declareDead(name)
            }
        }
    }
}
