import FanfareCore
import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The job field `canary`: who belongs to it, and when it pauses the job.
@Suite struct GuardCanaryTests {
    @Test(arguments: [
        ("1000", 2_500), ("1%", 2_500), ("0.1%", 1_001), ("33.3%", 1_001), ("99.9%", 2_000), ("50%", 3),
        ("1499", 1_500),
        ("0.7%", 1_700),
    ])
    func watermarksOfTheCanaryEndAtItsSize(_ size: String, _ total: Int) async throws {
        let count = try #require(try Canary(Array(size.utf8)).count(total: total))
        try await withGuardBench { guards in
            try await guards.intake("a", total) { $0.canary = size }
            var granted = 0
            for claim in try await guards.claims(window: 5_000) {
                var batch = GuardedBatch(claim)
                _ = try await batch.record(0..<0, asking: claim.recipients.count, in: guards.bench)
                granted += batch.watermark
            }
            #expect(granted == count)
        }
    }

    @Test(arguments: ["1500", "2000", "99.99%"])
    func jobOfAtMostTheCanaryDoesNotPause(_ size: String) async throws {
        // 99.99% breaks the rule of shares, and stands for any value beyond the total.
        try await withGuardBench { guards in
            try await guards.intake("a", 1_500) { $0.canary = size == "99.99%" ? "100000" : size }
            let claims = try await guards.claims(window: 5_000)
            #expect(claims.map(\.watermark) == [1_000, 500])
            for claim in claims { try await guards.bench.finish(claim, "w1") }
            #expect(try await guards.bench.job("a")["state"] == "done")
        }
    }

    @Test func jobPausesOnceEveryRecipientOfTheCanaryWasTried() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 1_500) { $0.canary = "10" }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            #expect(batch.watermark == 10)
            // A retryable outcome is a first attempt, and so is a failure without a send.
            try await batch.record(0..<4, .retryable, asking: 138, in: guards.bench)
            try await batch.record([(4, .failed(.invalidArgument))], in: guards.bench)
            #expect(try await batch.record(5..<9, in: guards.bench).paused == nil)
            #expect(try await guards.state("a") == ["active", nil])
            let last = try await batch.record(9..<10, asking: 138, in: guards.bench)
            #expect(last.paused == .canary && last.reason == "canary" && last.watermark == 10)
            #expect(try await guards.state("a") == ["paused", "canary"])
            let news = try await guards.bench.claim("w2").news
            #expect(news.contains { if case .stop("a", _) = $0 { true } else { false } })
            #expect(try await guards.bench.active() == [])
        }
    }

    @Test func recipientGivenBackWithoutASendKeepsTheCanaryOpen() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 1_500) { $0.canary = "10" }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            var call = batch.call((0..<9).map { ($0, .sent) })
            let unsent = RecipientHistory(attempts: 0, firstAttemptMs: 0, maybeDuplicate: false)
            call.retries = [.init(index: 9, dueMs: 1, parked: false, packed: unsent.packed(with: "t9"))]
            #expect(try await guards.bench.record(call, "w1") == .ok())
            #expect(try await guards.state("a") == ["active", nil])
            let again = try #require(try await guards.claims("w2").first)
            #expect(again.pass == .retry && again.recipients.map(\.index) == [9])
            var rest = GuardedBatch(again, "w2")
            #expect(try await rest.record(0..<1, finish: true, in: guards.bench).paused == .canary)
        }
    }

    @Test func retriesOfTheCanaryGoOnWhileItIsHeld() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 1_500) { $0.canary = "10" }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            try await batch.record((0..<8).map { ($0, .sent) } + [(8, .retryable), (9, .retryable)], in: guards.bench)
            try await batch.release(guards)
            let claims = try await guards.claims("w2")
            #expect(claims.map(\.pass) == [.retry] && claims.first?.recipients.map(\.index) == [8, 9])
            var retry = GuardedBatch(try #require(claims.first), "w2")
            try await retry.record(0..<2, finish: true, in: guards.bench)
            let job = try await guards.bench.job("a")
            #expect(job["state"] == "paused" && job["reason"] == "canary" && job["sent"] == "10")
            #expect(try await guards.claims("w2").isEmpty)
        }
    }

    @Test func resumeLetsTheJobGoOnBehindItsCanary() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 1_500) { $0.canary = "10" }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            try await batch.record(0..<10, in: guards.bench)
            try await batch.release(guards)
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            #expect(try await guards.resume("a") == ["ok", "waiting"])
            let claims = try await guards.claims("w2", window: 5_000)
            #expect(claims.map(\.batch) == ["0", "1"])
            // Its first holder was granted ten; now it gets what it asks for.
            #expect(claims.map(\.watermark) == [10, 500])
            var first = GuardedBatch(claims[0], "w2")
            #expect(try await first.record(10..<10, asking: 1_000, in: guards.bench) == GuardedReply())
            try await first.record(10..<1_000, finish: true, in: guards.bench)
            try await guards.bench.finish(claims[1], "w2")
            #expect(try await guards.bench.job("a")["state"] == "done")
        }
    }

    @Test func waitLetsTheJobGoOnByItself() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 1_500) {
                $0.canary = "10"
                $0.canaryWaitMs = 5_000
            }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            try await batch.record(0..<10, in: guards.bench)
            try await batch.release(guards)
            try await guards.advance(4_900)
            #expect(try await guards.state("a") == ["paused", "canary"])
            let reply = try await guards.bench.claim("w2")
            #expect(reply.claims.isEmpty && reply.nextDueMs - reply.nowMs == 100)
            try await guards.advance(100)
            #expect(try await guards.state("a") == ["waiting", nil])
            #expect(try await guards.claims("w2").map(\.batch) == ["0", "1"])
            #expect(try await guards.state("a") == ["active", nil])
        }
    }

    @Test func canaryOfAWholeBatchEndsBeforeTheNextIsClaimed() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 2_500) { $0.canary = "1000" }
            try await guards.bench.intake("b", tokens(1_500))
            let claims = try await guards.claims(window: 5_000)
            #expect(claims.map(\.name) == ["a/0"])
            var batch = GuardedBatch(try #require(claims.first))
            let last = try await batch.record(0..<1_000, finish: true, in: guards.bench)
            #expect(last.paused == .canary)
            // The slot is free for the next fan-out.
            #expect(try await guards.claims("w2").map(\.job) == ["b", "b"])
            #expect(try await guards.resume("a") == ["ok", "waiting"])
        }
    }

    @Test func jobOfOneBatchMayHaveACanary() async throws {
        try await withGuardBench { guards in
            try await guards.intake("a", 100) { $0.canary = "10%" }
            var batch = GuardedBatch(try #require(try await guards.claims().first))
            #expect(batch.watermark == 10)
            #expect(try await batch.record(0..<10, asking: 100, in: guards.bench).paused == .canary)
            try await batch.release(guards)
            #expect(try await guards.claims().isEmpty)
            _ = try await guards.resume("a")
            var rest = GuardedBatch(try #require(try await guards.claims().first))
            try await rest.record(10..<10, asking: 100, in: guards.bench)
            try await rest.record(10..<100, finish: true, in: guards.bench)
            #expect(try await guards.bench.job("a")["state"] == "done")
        }
    }
}
