import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The leases of workers in a real server: renewals, deaths and rests.
@Suite struct LeaseFunctionTests {
    private let keys = ProjectKeys(project: "p")

    @Test func aWorkerDeclaredDeadIsFenced() async throws {
        try await withBench { bench in
            try await bench.declareDead("w1")
            let claim = bench.request("w1").command(keys)
            #expect(ClaimReply.parse(try await bench.call(claim)) == .fenced)
            let renewal = try await bench.call(FunctionLibrary.renew(.init(keys, worker: "w1")))
            #expect(RenewReply(renewal) == .fenced)
            let other = ProjectKeys(project: "other")
            _ = try await bench.call(FunctionLibrary.register(other, worker: "v"))
            let renewals = FunctionLibrary.renew([
                .init(keys, worker: "w1"), .init(other, worker: "v", about: "{}"), .init(keys, worker: "w2"),
                .init(other, worker: "unknown"),
            ])
            let replies = try #require(try await bench.call(renewals).array).map(RenewReply.init)
            #expect(replies[0] == .fenced && replies[3] == .fenced)
            #expect(replies[1] == .ok(counters: ["v": "3000000000002"]))
            let about = try await bench.map(RedisCommand("HGETALL", other.base + "about"))
            #expect(about.keys.sorted() == ["v"], "no report was due for the others")
            _ = try await bench.call(RedisCommand("SET", "fanfare:{bad}:leases", "no hash"))
            let broken = FunctionLibrary.renew([
                .init(ProjectKeys(project: "bad"), worker: "w"), .init(other, worker: "v"),
            ])
            let answers = try #require(try await bench.call(broken).array)
            #expect(RenewReply(answers[0]) == nil)
            #expect(RenewReply(answers[1]) == .ok(counters: ["v": "3000000000003"]))
            let stale = FunctionLibrary.declareDead(keys, worker: "w2", counter: "999")
            #expect(try await bench.call(stale).integer == -1, "a counter that moved saves its worker")
        }
    }

    @Test func leaseRestsUntilTheWorkerIsGivenSomething() async throws {
        try await withBench { bench in
            func counter(_ worker: String) async throws -> String {
                try await bench.call(RedisCommand("HGET", keys.base + "leases", worker)).string ?? ""
            }
            func isResting(_ worker: String) async throws -> Bool {
                FunctionLibrary.isResting(try await counter(worker))
            }
            @discardableResult
            func renew(_ worker: String, rests: Bool) async throws -> RenewReply? {
                RenewReply(try await bench.call(FunctionLibrary.renew(.init(keys, worker: worker, rests: rests))))
            }
            let reply = try await renew("w1", rests: true)
            let first = try await counter("w1")
            #expect(reply == .ok(counters: try await bench.map(RedisCommand("HGETALL", keys.base + "leases"))))
            #expect(FunctionLibrary.isResting(first) && FunctionLibrary.knowsCompactJobs(first))
            try await renew("w1", rests: true)
            #expect(try await isResting("w1"))
            #expect(try await counter("w1") != first, "a renewal of a lease that rests is one")
            try await renew("w1", rests: false)
            #expect(try await !isResting("w1"))
            try await renew("w1", rests: true)
            _ = try await bench.claim("w1")
            #expect(try await !isResting("w1"), "a claim may bring a batch")
            try await renew("w1", rests: true)
            try await bench.register("w1")
            #expect(try await !isResting("w1"))
            try await renew("w1", rests: true)
            _ = try await bench.intake("j", .tokens(["a"]), taker: "w1")
            #expect(try await !isResting("w1"), "it was handed over to the worker that read it")
            try await renew("w1", rests: true)
            #expect(try await !isResting("w1"), "it holds a batch")
        }
    }
}
