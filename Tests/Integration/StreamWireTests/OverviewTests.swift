import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The state of a project and its jobs, as people see it.
@Suite struct OverviewTests {
    @Test func overviewShowsTheQuotaAndTheRestOfATurn() async throws {
        try await withBench { bench in
            var topic = Job(id: "topic", hasOwnID: true, entryID: "", target: .topic("news"), message: Array("{}".utf8))
            let push = RedisCommand("XADD", bench.keys.jobs, "*", "x", "1")
            topic.entryID = try #require(try await bench.call(push).string)
            topic.audienceSize = 10_000_000
            _ = try await bench.intake(topic, taker: nil)
            let claim = try #require(try await bench.claim("w1").claims.first)
            let before = try #require(OverviewReply(try await bench.call(FunctionLibrary.overview(bench.keys))))
            #expect(before.active == ["topic"] && before.activeLeftMs.isEmpty)
            try await bench.finish(claim, "w1")
            let after = try #require(OverviewReply(try await bench.call(FunctionLibrary.overview(bench.keys))))
            let leftMs = try #require(after.activeLeftMs["topic"])
            #expect((900_000...1_000_000).contains(leftMs) && after.quotaPerMinute == 600_000)
        }
    }

    /// What a paused job's worker gives back was never tried, so it is no retry.
    @Test func unsentRecipientsAreNotCountedAsRetries() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(3))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var call = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
            call.retries = [
                .init(index: 0, dueMs: 1, parked: false, packed: "0|0|0|t0"),
                .init(index: 1, dueMs: 1, parked: false, packed: "1|5|0|t1"),
                .init(index: 2, dueMs: 1, parked: false, packed: "0|0|0|t2"),
            ]
            call.finish = true
            #expect(try await bench.record(call, "w1") == .ok())
            #expect(try await bench.job("j")["retrying"] == "1")
            // Sent, refused for now, and sent.
            var wait = RecordCall(job: "j", batch: "", epoch: "")
            let claims = try await bench.claim("w1").claims
            for claim in claims {
                wait = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
                for recipient in claim.recipients {
                    if recipient.index == 2 {
                        wait.retries.append(.init(index: 2, dueMs: 1, parked: false, packed: "1|5|0|t2"))
                    } else {
                        wait.results.append(index: recipient.index, status: .sent)
                    }
                }
                wait.finish = true
                #expect(try await bench.record(wait, "w1") == .ok())
            }
            let job = try await bench.job("j")
            #expect(job["retrying"] == "1" && job["sent"] == "2")
            let last = try #require(try await bench.claim("w1").claims.first)
            try await bench.finish(last, "w1")
            let over = try await bench.job("j")
            #expect(over["retrying"] == "0" && over["state"] == "done")
        }
    }

    @Test func newestRejectedJobIsNamedUntilItsEntryIsDropped() async throws {
        try await withBench { bench in
            for id in ["a", "b", "c", "d"] {
                let push = RedisCommand("XADD", bench.keys.jobs, "*", "id", id)
                let entry = try #require(try await bench.call(push).string)
                let reject = FunctionLibrary.reject(
                    bench.keys,
                    entryID: entry,
                    job: id,
                    reason: "message: missing",
                    keepMs: 3_600_000,
                    fields: []
                )
                _ = try await bench.call(reject)
            }
            func rejected(most: Int = 20) async throws -> NamedValues {
                let reply = NamedValues(try await bench.call(FunctionLibrary.fleet(bench.keys, most: most)))
                return try #require(reply?["rejected"].flatMap { NamedValues($0) })
            }
            let newest = try await rejected()
            let entries = try await bench.call(RedisCommand("XREVRANGE", bench.keys.dead, "+", "-", "COUNT", "1"))
            let entry = try #require(entries.array?.first.flatMap { StreamEntry($0)?.id })
            #expect(newest.text("job") == "d" && newest.text("entry") == entry)
            #expect(newest.text("reason") == "message: missing")
            _ = try await bench.call(RedisCommand("XDEL", bench.keys.dead, entry))
            #expect(try await rejected().text("job") == "c")
            #expect(try await rejected(most: 1).text("job") == nil, "workers need no name")
        }
    }

    @Test func aConsumerThatHoldsAnEntryStays() async throws {
        try await withBench { bench in
            _ = try await bench.call(RedisCommand("XADD", bench.keys.jobs, "*", "x", "1"))
            for name in ["holder", "idle"] {
                let jobs = bench.keys.jobs
                _ = try await bench.call(
                    RedisCommand("XREADGROUP", "GROUP", ProjectKeys.group, name, "COUNT", "1", "STREAMS", jobs, ">")
                )
            }
            // A consumer that was only asked for is not there in every version.
            _ = try await bench.call(
                RedisCommand("XGROUP", "CREATECONSUMER", bench.keys.jobs, ProjectKeys.group, "idle")
            )
            #expect(
                try await bench.call(FunctionLibrary.removeIdleConsumers(bench.keys, idleMs: 3_600_000)).integer == 0
            )
            #expect(try await bench.call(FunctionLibrary.removeIdleConsumers(bench.keys, idleMs: -1)).integer == 1)
            let left = try await bench.call(RedisCommand("XINFO", "CONSUMERS", bench.keys.jobs, ProjectKeys.group))
            #expect(left.array?.count == 1)
            let other = ProjectKeys(project: "none")
            #expect(try await bench.call(FunctionLibrary.removeIdleConsumers(other, idleMs: -1)).integer == 0)
        }
    }
}
