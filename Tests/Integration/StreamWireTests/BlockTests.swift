import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A blocked project: sends wait for the probe, and operations on topics and groups, which have APIs of their own, do not.
@Suite struct BlockTests {
    private static let denied = "HTTP 403 PERMISSION_DENIED: no permission"
    private static let refusedOperation = "HTTP 404 NOT_FOUND: not found: check the project id and the endpoint"

    private func call(_ worker: String, most: Int = 10) -> ClaimCall {
        var call = ClaimCall(
            worker: worker,
            most: most,
            wanted: 1_000,
            wantedSingle: 1_000,
            window: 1_000,
            retries: 1_000,
            quotaPerMinute: 600_000
        )
        call.wantedManaged = 1_000
        return call
    }

    /// All of a claim waits for the probe, and the project is blocked for a reason.
    private func block(_ claim: Claim, _ reason: String, _ bench: LibraryBench) async throws {
        var record = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        record.retries = claim.recipients.map { .init(index: $0.index, dueMs: 1, parked: true, packed: "0|0|0|t") }
        record.blockReason = reason
        record.finish = true
        #expect(try await bench.record(record, "w1") == .ok())
    }

    private func block(job id: String, _ reason: String, _ bench: LibraryBench) async throws {
        try await bench.intake(id, tokens(2))
        let claim = try #require(try await bench.claim(call("w1")).claims.first)
        #expect(claim.job == id)
        try await block(claim, reason, bench)
    }

    /// What the probe waits for has come.
    private func minutePasses(_ bench: LibraryBench, _ sets: [String]) async throws {
        _ = try await bench.call(RedisCommand("HSET", bench.keys.base + "ctl", "block_until", "1"))
        for set in sets {
            for member in try await bench.words(RedisCommand("ZRANGE", bench.keys.base + set, "0", "-1")) {
                _ = try await bench.call(RedisCommand("ZADD", bench.keys.base + set, "1", member))
            }
        }
    }

    @Test func operationsGoOnWhileSendsAreBlocked() async throws {
        try await withBench { bench in
            try await block(job: "send", Self.denied, bench)
            try await bench.intake("op", tokens(2)) { $0.operation = .subscribe }
            let blocked = try await bench.claim(call("w2", most: 1))
            #expect(blocked.claims.map(\.job) == ["op"] && blocked.probeMs > 0)
            #expect(blocked.claims.allSatisfy { !$0.isProbe })
            try await bench.retry(0, of: try #require(blocked.claims.first), "w2", finish: false)
            try await minutePasses(bench, ["again", "retry"])
            let probe = try await bench.claim(call("w1"))
            #expect(probe.claims.filter(\.isProbe).map(\.job) == ["send"], "an operation is no probe")
        }
    }

    /// No API takes the token of a credential that the token endpoint refuses.
    @Test func refusedCredentialOfAnOperationBlocksSends() async throws {
        try await withBench { bench in
            try await bench.intake("op", tokens(2)) { $0.operation = .subscribe }
            let claim = try #require(try await bench.claim(call("w1")).claims.first)
            try await block(claim, "HTTP 400: invalid_grant: check the project's credentials", bench)
            #expect(try await bench.job("op")["state"] == "paused")
            try await bench.intake("send", tokens(2))
            #expect(try await bench.claim(call("w2")).claims.isEmpty)
        }
    }

    /// The block that an earlier build's operation left in Redis ends with its minute, without a probe.
    @Test func blockLeftByAnOperationEndsWithItsMinute() async throws {
        try await withBench { bench in
            try await bench.intake("op", tokens(2)) { $0.operation = .subscribe }
            let claim = try #require(try await bench.claim(call("w1")).claims.first)
            try await block(claim, "HTTP 400: as an earlier library wrote it", bench)
            _ = try await bench.call(RedisCommand("HSET", bench.keys.base + "ctl", "block", Self.refusedOperation))
            try await bench.intake("send", tokens(2))
            try await minutePasses(bench, ["again_managed"])
            _ = try await bench.claim(call("w1", most: 1))
            let reply = try await bench.claim(call("w2"))
            #expect(reply.probeMs == 0 && reply.claims.map(\.job).contains("send"))
            let op = try await bench.job("op")
            #expect(op["state"] != "paused" && op["reason"] == nil)
        }
    }

    @Test(arguments: ["cancel", "pause"]) func endOfTheLastBlockedJobLiftsTheBlock(how: String) async throws {
        try await withBench { bench in
            for id in ["a", "b"] { try await bench.intake(id, tokens(1)) }
            for claim in try await bench.claim(call("w1")).claims { try await block(claim, Self.denied, bench) }
            try await bench.intake("next", tokens(1))
            func stop(_ id: String) async throws {
                let command =
                    how == "cancel"
                    ? FunctionLibrary.cancel(bench.keys, job: id) : FunctionLibrary.pause(bench.keys, job: id)
                _ = try await bench.words(command)
            }
            try await stop("a")
            #expect(try await bench.claim(call("w2")).probeMs > 0, "the other job still waits for the probe")
            try await stop("b")
            let free = try await bench.claim(call("w2"))
            #expect(free.probeMs == 0 && free.claims.map(\.job).contains("next"))
        }
    }

    @Test func resumeOfTheProjectHasItProbedAtOnce() async throws {
        try await withBench { bench in
            try await block(job: "send", Self.denied, bench)
            try await bench.intake("op", tokens(1)) { $0.operation = .groupGet }
            _ = try await bench.words(FunctionLibrary.resumeProject(bench.keys))
            let reply = try await bench.claim(call("w2"))
            #expect(reply.claims.filter(\.isProbe).map(\.job) == ["send"])
            #expect(reply.claims.filter { !$0.isProbe }.map(\.job) == ["op"])
        }
    }
}
