import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Jobs that are cancelled while they are entries that no worker has taken.
@Suite struct EntryCancelTests {
    private func push(_ bench: LibraryBench, _ id: String?) async throws -> String {
        var command = RedisCommand("XADD", bench.keys.jobs, "*", "message", "{}")
        if let id {
            command.append("id")
            command.append(id)
        }
        return try #require(try await bench.call(command).string)
    }

    private func cancel(_ bench: LibraryBench, _ id: String, behind: String? = nil) async throws -> EntryCancelReply? {
        EntryCancelReply(try await bench.call(FunctionLibrary.cancelEntry(bench.keys, job: id, behind: behind)))
    }

    private func take(
        _ bench: LibraryBench,
        _ entry: String,
        _ id: String,
        own: Bool = true,
        _ target: Target
    ) async throws -> IntakeReply {
        let job = Job(id: id, hasOwnID: own, entryID: entry, target: target, message: Array("{}".utf8))
        return try await bench.intake(job, taker: "w1")
    }

    @Test(arguments: [1, 2_500]) func cancelledEntryEndsWhenItIsTaken(count: Int) async throws {
        try await withBench { bench in
            let entry = try await push(bench, "j")
            let other = try await push(bench, "k")
            #expect(try await cancel(bench, "j") == .found())
            #expect(try await take(bench, entry, "j", tokens(count)) == .queued)
            let taken = try await take(bench, other, "k", tokens(1))
            guard case .taken = taken else { throw TestFailure("k: \(taken)") }
            for _ in 0..<(count + 999) / 1_000 {
                let claim = try #require(try await bench.claim("w1", most: 1).claims.first)
                #expect(claim.job == "j" && claim.ending == "cancelled")
                try await bench.finish(claim, "w1", status: .cancelled)
            }
            let job = try await bench.job("j")
            #expect(job["state"] == "cancelled" && job["cancelled"] == String(count))
            #expect(try await bench.call(RedisCommand("EXISTS", bench.keys.base + "unwanted")).integer == 0)
        }
    }

    @Test func jobIsCancelledByItsEntryID() async throws {
        try await withBench { bench in
            let entry = try await push(bench, nil)
            #expect(try await cancel(bench, "1-1") == .missing)
            #expect(try await cancel(bench, entry) == .found())
            #expect(try await take(bench, entry, entry, own: false, tokens(1)) == .queued)
            let claim = try #require(try await bench.claim("w1").claims.first)
            #expect(claim.ending == "cancelled")
        }
    }

    @Test func entriesAreSearchedInPages() async throws {
        try await withBench { bench in
            for index in 0..<70 { _ = try await push(bench, "j\(index)") }
            var behind: String?
            var calls = 0
            while case .more(let next)? = try await cancel(bench, "j65", behind: behind) {
                behind = next
                calls += 1
            }
            #expect(calls == 3)
            #expect(try await cancel(bench, "j65", behind: behind) == .found())
            #expect(try await cancel(bench, "none", behind: behind) == .missing)
        }
    }

    /// The end of the first would free the id for the next.
    @Test func jobPushedSeveralTimesIsCancelledWithEachEntry() async throws {
        try await withBench { bench in
            for index in 0..<45 { _ = try await push(bench, [0, 1, 30].contains(index) ? "j" : "j\(index)") }
            guard case .found(let next?)? = try await cancel(bench, "j") else { throw TestFailure("not found") }
            guard case .found(let last?)? = try await cancel(bench, "j", behind: next) else {
                throw TestFailure("not found")
            }
            #expect(try await cancel(bench, "j", behind: last) == .missing)
            #expect(try await bench.call(RedisCommand("SCARD", bench.keys.base + "unwanted")).integer == 3)
        }
    }

    @Test func rejectedAndDuplicateEntriesLeaveNoMark() async throws {
        try await withBench { bench in
            let bad = try await push(bench, "bad")
            #expect(try await cancel(bench, "bad") == .found())
            let reject = FunctionLibrary.reject(
                bench.keys,
                entryID: bad,
                job: "bad",
                reason: "message: missing",
                keepMs: 3_600_000,
                fields: []
            )
            _ = try await bench.call(reject)
            let first = try await push(bench, "j")
            _ = try await take(bench, first, "j", tokens(1))
            let second = try await push(bench, "j")
            #expect(try await cancel(bench, "j") == .found())
            #expect(try await take(bench, second, "j", tokens(1)) == .duplicate)
            #expect(try await bench.call(RedisCommand("EXISTS", bench.keys.base + "unwanted")).integer == 0)
            #expect(try await bench.job("j")["state"] == "active")
        }
    }
}
