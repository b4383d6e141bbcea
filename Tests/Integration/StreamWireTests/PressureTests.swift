import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// What stops the claims of a job that is being sent, and how a large job ends.
@Suite struct PressureTests {
    private func request(backlogLimit: Int = 10) -> ClaimCall {
        var call = ClaimCall(
            worker: "w1",
            most: 1,
            wanted: 1_000,
            wantedSingle: 0,
            window: 128,
            retries: 0,
            quotaPerMinute: 600_000
        )
        call.backlogLimit = backlogLimit
        call.permitsFanout = 1
        return call
    }

    /// Each recipient of a batch fails without a send, with an entry of feedback.
    private func fail(_ claim: Claim, _ bench: LibraryBench) async throws {
        var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        for recipient in claim.recipients {
            call.results.append(
                index: recipient.index,
                status: .failed,
                failure: FailureKind(.invalidArgument, .remove)
            )
            call.feedback.append(
                RecordCall.Feedback(
                    index: recipient.index,
                    kind: "token",
                    recipient: recipient.value,
                    action: "remove",
                    replacement: "",
                    error: "INVALID_ARGUMENT"
                )
            )
        }
        call.finish = true
        #expect(try await bench.record(call, "w1") == .ok())
    }

    /// Pressure is measured five times a second.
    private func claim(_ bench: LibraryBench, until isRight: (ClaimReply) -> Bool) async throws -> ClaimReply {
        var call = request()
        call.most = 0
        for _ in 0..<100_000 {
            let reply = try await bench.claim(call)
            if isRight(reply) { return reply }
        }
        throw TestFailure("the pressure did not change")
    }

    @Test func unreadFeedbackOfAJobThatIsSentStopsItsNextBatch() async throws {
        try await withBench { bench in
            let create = RedisCommand("XGROUP", "CREATE", bench.keys.feedback, "readers", "0", "MKSTREAM")
            _ = try await bench.call(create)
            try await bench.intake("bad", tokens(2_500))
            try await fail(try #require(try await bench.claim(request()).claims.first), bench)
            _ = try await claim(bench) { $0.pressure == "feedback" }
            let pressed = try await bench.claim(request())
            #expect(pressed.claims.isEmpty && pressed.permits == 0)
            let feedback = try await bench.call(RedisCommand("XLEN", bench.keys.feedback)).integer
            #expect(feedback == 1_000)
            // The reader catches up.
            _ = try await bench.call(RedisCommand("XGROUP", "SETID", bench.keys.feedback, "readers", "$"))
            _ = try await claim(bench) { $0.pressure.isEmpty }
            #expect(try await bench.claim(request()).claims.map(\.batch) == ["1"])
        }
    }

    @Test func feedbackWithoutAGroupStopsNoBatch() async throws {
        try await withBench { bench in
            try await bench.intake("bad", tokens(2_500))
            for batch in ["0", "1", "2"] {
                let taken = try #require(try await bench.claim(request()).claims.first)
                #expect(taken.batch == batch)
                try await fail(taken, bench)
            }
            #expect(try await bench.job("bad")["failed"] == "2500")
        }
    }

    /// Sets the memory limit so that Redis uses this share of it. Beside the filler, buffers of clients do not count.
    private func use(_ percent: Int64, _ bench: LibraryBench) async throws {
        _ = try await bench.call(RedisCommand("CONFIG", "SET", "maxmemory", "0"))
        _ = try await bench.call(RedisCommand("SETRANGE", "filler", "30000000", "x"))
        let info = try #require(try await bench.call(RedisCommand("INFO", "memory")).string)
        let line = try #require(info.split(whereSeparator: \.isNewline).first { $0.hasPrefix("used_memory:") })
        let used = try #require(Int64(line.dropFirst("used_memory:".count)))
        _ = try await bench.call(RedisCommand("CONFIG", "SET", "maxmemory", String(used * 100 / percent)))
    }

    @Test func fullMemoryStopsTheNextBatchOfAJobThatIsSent() async throws {
        try await withBench { bench in
            try await bench.intake("bad", tokens(2_500))
            try await fail(try #require(try await bench.claim(request()).claims.first), bench)
            try await use(85, bench)
            _ = try await claim(bench) { $0.pressure == "memory" }
            #expect(try await bench.claim(request()).claims.isEmpty)
            try await use(10, bench)
            _ = try await claim(bench) { $0.pressure.isEmpty }
            #expect(try await bench.claim(request()).claims.map(\.batch) == ["1"])
        }
    }

    @Test func jobThatEndsGetsItsResultsUntilNineTenthsOfTheMemoryAreUsed() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(2_500))
            _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: "a"))
            try await use(95, bench)
            _ = try await claim(bench) { $0.pressure == "memory" }
            #expect(try await bench.claim(request()).claims.isEmpty)
            try await use(85, bench)
            let reply = try await bench.claim(request())
            #expect(reply.pressure == "memory" && reply.claims.map(\.ending) == ["cancelled"])
        }
    }

    @Test func batchOfAJobThatEndsMarksEachRecipientOnce() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(1_013)) { $0.results = .none }
            _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: "a"))
            let claims = try await bench.claim("w1").claims
            #expect(claims.map(\.recipients.count) == [1_000, 13])
            for claim in claims {
                var call = RecordCall(job: "a", batch: claim.batch, epoch: claim.epoch)
                for recipient in claim.recipients.dropLast() {
                    call.results.append(index: recipient.index, status: .cancelled)
                }
                for _ in 0..<2 { #expect(try await bench.record(call, "w1") == .ok()) }
            }
            let done = bench.keys.base + "done:a"
            #expect(try await bench.call(RedisCommand("BITCOUNT", done)).integer == 1_011)
            for index in ["999", "1012"] {
                #expect(try await bench.call(RedisCommand("GETBIT", done, index)).integer == 0)
            }
            #expect(try await bench.job("a")["cancelled"] == "1011")
            for claim in claims { try await bench.finish(claim, "w1", status: .cancelled, call: 2) }
            let job = try await bench.job("a")
            #expect(job["state"] == "cancelled" && job["cancelled"] == "1013")
        }
    }
}
