import FanfareModel
import StreamWire
import TestSupport
import Testing

/// What workers report of FCM, and what people see of it.
@Suite struct HealthTests {
    private static let outage =
        #"{"lease_ms":10000,"outage":{"service":"FCM","cause":"no \"route\"","since":"NOON","since_ms":5}}"#
    private static let answered = #"{"lease_ms":10000,"answered":true}"#
    private static let reason = #"FCM cannot be reached since NOON: no "route""#

    private func renew(_ bench: LibraryBench, _ worker: String, _ about: String) async throws {
        _ = try await bench.call(FunctionLibrary.renew(.init(bench.keys, worker: worker, about: about)))
    }

    private func write(_ bench: LibraryBench, _ about: String, pressure: String = "") async throws -> Int64? {
        let call = FunctionLibrary.writeReasons(bench.keys, worker: "w1", about: about, pressure: pressure)
        return try await bench.call(call).integer
    }

    private func overview(_ bench: LibraryBench) async throws -> OverviewReply {
        try #require(OverviewReply(try await bench.call(FunctionLibrary.overview(bench.keys))))
    }

    @Test func projectIsUnreachableIfEveryWorkerThatTriesSaysSo() async throws {
        try await withBench { bench in
            try await renew(bench, "w1", Self.outage)
            let all = try await overview(bench)
            #expect(all.unreachable == #"FCM cannot be reached: no "route""# && all.unreachableSinceMs == 5)
            #expect(!all.isUnreachablePartly && all.workersAlive == 2, "the other worker tried nothing")
            try await renew(bench, "w2", Self.answered)
            let partly = try await overview(bench)
            #expect(
                partly.isUnreachablePartly && partly.unreachable == #"worker w1: FCM cannot be reached: no "route""#
            )
            try await renew(bench, "w1", Self.answered)
            #expect(try await overview(bench).unreachable == "")
        }
    }

    @Test(arguments: ["{\"outage\":", "{\"outage\":[1]}", "{\"outage\":{}}", "\"outage\":"])
    func malformedReportIsNoError(about: String) async throws {
        try await withBench { bench in
            try await renew(bench, "w1", about)
            #expect(try await overview(bench).workersAlive == 2)
        }
    }

    @Test func silentWorkerIsNotAlive() async throws {
        try await withBench { bench in
            try await renew(bench, "w1", #"{"lease_ms":1,"outage":{"service":"FCM","cause":"x","since_ms":5}}"#)
            try await Task.sleep(for: .milliseconds(5))
            let overview = try await overview(bench)
            #expect(overview.workersAlive == 1 && overview.workers == 2 && overview.unreachable == "")
        }
    }

    @Test func fullRedisIsPressureWithoutAClaim() async throws {
        try await withBench { bench in
            try await renew(bench, "w1", #"{"lease_ms":10000,"redis_full":true}"#)
            #expect(try await overview(bench).pressure == "memory")
        }
    }

    @Test func openJobsShowTheOutageUntilItIsOver() async throws {
        try await withBench { bench in
            for id in ["a", "b", "c"] { try await bench.intake(id, tokens(3)) }
            _ = try await bench.call(FunctionLibrary.pause(bench.keys, job: "b"))
            #expect(try await write(bench, Self.outage) == 2)
            #expect(try await write(bench, Self.outage) == 2, "twice changes nothing")
            #expect(try await bench.job("a")["reason"] == Self.reason)
            #expect(try await bench.job("b")["reason"] == "paused by an operator")
            // An operator's word stands above the outage, and outlives it.
            _ = try await bench.call(FunctionLibrary.pause(bench.keys, job: "c"))
            let later = Self.outage.replacing("NOON", with: "ONE")
            #expect(try await write(bench, later) == 1)
            #expect(try await bench.job("a")["reason"] == Self.reason.replacing("NOON", with: "ONE"))
            #expect(try await write(bench, Self.answered) == 0)
            #expect(try await bench.job("a")["reason"] == nil)
            #expect(try await bench.job("c")["reason"] == "paused by an operator")
            #expect(try await bench.map(RedisCommand("HGETALL", "\(bench.keys.base)reasons")).isEmpty)
        }
    }

    @Test func outageOfOneWorkerIsNoReasonOfJobs() async throws {
        try await withBench { bench in
            try await bench.intake("a", tokens(3))
            try await renew(bench, "w2", Self.answered)
            #expect(try await write(bench, Self.outage) == 0)
            #expect(try await write(bench, Self.outage, pressure: "Redis is nearly out of memory") == 1)
            #expect(try await bench.job("a")["reason"] == "Redis is nearly out of memory")
            #expect(try await write(bench, Self.outage) == 0)
            #expect(try await bench.job("a")["reason"] == nil)
        }
    }

    @Test func jobKnowsWhenItWasPushedAndWhenItStarts() async throws {
        try await withBench { bench in
            let push = RedisCommand("XADD", bench.keys.jobs, "*", "x", "1")
            let entry = try #require(try await bench.call(push).string)
            try await Task.sleep(for: .milliseconds(5))
            let start = Int64(entry.split(separator: "-")[0])! + 3_600_000
            _ = try await bench.intake("later", tokens(2)) {
                $0.entryID = entry
                $0.notBefore = start
            }
            let hash = try await bench.job("later")
            #expect(hash["created_ms"] == String(entry.split(separator: "-")[0]))
            #expect(hash["state"] == "scheduled" && hash["not_before"] == "\(start)")
        }
    }

    /// Permits that are spent on sends that never reach FCM do not let the rate climb.
    @Test func rateFallsWhileFCMCannotBeReached() async throws {
        try await withBench { bench in
            func level() async throws -> Double { try await overview(bench).permitsPerSecond }
            func claim() async throws {
                var call = ClaimCall(
                    worker: "w1",
                    most: 10,
                    wanted: 10_000,
                    wantedSingle: 10_000,
                    window: 128,
                    retries: 0,
                    quotaPerMinute: 600_000
                )
                call.permitsFanout = 10_000
                call.answers = AnswerReport()
                _ = try await bench.claim(call)
            }
            try await claim()
            _ = try await bench.call(RedisCommand("HSET", "\(bench.keys.base)ctl", "level", "5000"))
            let start = try await level()
            for _ in 0..<30 {
                try await claim()
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(try await level() < start)
        }
    }
}
