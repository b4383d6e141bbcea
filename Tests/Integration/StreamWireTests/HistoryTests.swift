import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The history of a project: what several workers add to its slots.
@Suite struct HistoryTests {
    /// In the middle of a slot of ten seconds; its records belong to the slot before.
    private static let nowMs: Int64 = 1_800_000_302_000
    private static let slot = (nowMs - 5_000) / 10_000

    private func write(
        _ bench: LibraryBench,
        _ worker: String,
        _ number: Int,
        _ counts: [String: Int64],
        version: String = "1.0"
    ) async throws -> String? {
        let command = FunctionLibrary.writeHistory(
            bench.keys,
            worker: worker,
            number: number,
            version: version,
            HistoryRecord(counts: counts)
        )
        return try await bench.call(command).string
    }

    private func counts(
        _ bench: LibraryBench,
        _ step: HistoryInquiry.Step,
        _ slot: Int64
    ) async throws -> [String: Int64]? {
        let texts = try await bench.call(HistoryInquiry.slots(bench.keys, step, slot...slot)).array ?? []
        return HistoryInquiry.counts(texts[0], slot: slot)
    }

    private func marks(_ bench: LibraryBench) async throws -> [String] {
        let entries = try await bench.call(HistoryInquiry.marks(bench.keys, sinceMs: 0)).array ?? []
        return entries.compactMap { StreamEntry($0) }.map { "\($0.text("kind") ?? "") \($0.text("text") ?? "")" }
    }

    @Test func recordsOfAllWorkersAddUpInTheirSlot() async throws {
        try await withBench(nowMs: Self.nowMs) { bench in
            #expect(try await write(bench, "w1", 1, ["sent": 5, "error.INTERNAL": 2, "latency.3": 5]) == "ok")
            #expect(try await write(bench, "w2", 1, ["sent": 7, "latency.3": 6, "latency.4": 1]) == "ok")
            let expected: [String: Int64] = [
                "sent": 12, "error.INTERNAL": 2, "latency.3": 11, "latency.4": 1, "waiting": 0, "quota": 0,
            ]
            #expect(try await counts(bench, .tenSeconds, Self.slot) == expected)
            #expect(try await counts(bench, .fiveMinutes, Self.slot / 30) == expected)
            #expect(try await counts(bench, .tenSeconds, Self.slot + 1) == nil)
            #expect(try await bench.call(RedisCommand("HLEN", bench.keys.base + "history")).integer == 2)
            let lifetime = try await bench.call(RedisCommand("PTTL", bench.keys.base + "history")).integer ?? 0
            #expect((80_000_000...86_400_000).contains(lifetime))
        }
    }

    @Test func repeatedRecordChangesNothing() async throws {
        try await withBench(nowMs: Self.nowMs) { bench in
            for _ in 0..<3 { #expect(try await write(bench, "w1", 1, ["sent": 5]) == "ok") }
            #expect(try await write(bench, "w1", 2, ["sent": 1]) == "ok")
            #expect(try await write(bench, "w1", 1, ["sent": 5]) == "ok")
            let kept = try await counts(bench, .tenSeconds, Self.slot)
            #expect(kept?["sent"] == 6)
        }
    }

    @Test func olderSlotAtTheSamePlaceIsReplaced() async throws {
        try await withBench(nowMs: Self.nowMs) { bench in
            let place = "f\(Self.slot % 360)"
            let old = "\(Self.slot - 360) sent=9"
            _ = try await bench.call(RedisCommand("HSET", bench.keys.base + "history", place, old))
            #expect(try await counts(bench, .tenSeconds, Self.slot) == nil)
            #expect(try await write(bench, "w1", 1, ["sent": 1]) == "ok")
            let kept = try await counts(bench, .tenSeconds, Self.slot)
            #expect(kept?["sent"] == 1)
        }
    }

    @Test func idleProjectIsNotWrittenAndWaitingOneIs() async throws {
        try await withBench { bench in
            #expect(try await write(bench, "w1", 1, [:]) == "ok")
            #expect(try await write(bench, "w1", 2, [:]) == "ok")
            #expect(try await bench.call(RedisCommand("EXISTS", bench.keys.base + "history")).integer == 0)
            try await bench.intake("j", tokens(3))
            _ = try await bench.claim("w1", most: 0)
            #expect(try await write(bench, "w1", 3, [:]) == "ok")
            let texts = try await bench.call(RedisCommand("HVALS", bench.keys.base + "history")).array ?? []
            #expect(texts.count == 2)
            for text in texts { #expect(text.string?.hasSuffix(" quota=600000 waiting=3") == true) }
        }
    }

    @Test func deadWorkerWritesNothing() async throws {
        try await withBench { bench in
            #expect(try await write(bench, "w1", 1, ["sent": 1]) == "ok")
            try await bench.declareDead("w1")
            #expect(try await write(bench, "w1", 2, ["sent": 1]) == "fenced")
            #expect(try await bench.call(RedisCommand("HEXISTS", bench.keys.base + "recorded", "w1")).integer == 0)
        }
    }

    @Test func textIsBoundedWhateverNamesAWorkerSends() async throws {
        try await withBench(nowMs: Self.nowMs) { bench in
            let many = Dictionary(uniqueKeysWithValues: (0..<500).map { ("name\($0)", Int64(1)) })
            #expect(try await write(bench, "w1", 1, many) == "ok")
            #expect(try await write(bench, "w2", 1, ["other": 1]) == "ok")
            let kept = try #require(try await counts(bench, .tenSeconds, Self.slot))
            #expect(kept.count == 102 && kept["other"] == nil)
        }
    }

    @Test func startsAndVersionsAreMarkedOnce() async throws {
        try await withBench { bench in
            for worker in ["w1", "w2"] { _ = try await write(bench, worker, 1, [:]) }
            for worker in ["w3", "w4"] {
                try await bench.register(worker)
                _ = try await write(bench, worker, 1, [:], version: "1.1")
                _ = try await write(bench, worker, 2, ["sent": 1], version: "1.1")
            }
            #expect(try await marks(bench) == ["worker w1", "worker w2", "version 1.1", "worker w3", "worker w4"])
        }
    }

    @Test func holdsPausesAndBlocksAreMarkedWhereTheyBegin() async throws {
        try await withBench { bench in
            for _ in 0..<2 {
                _ = try await bench.call(FunctionLibrary.pauseProject(bench.keys, reason: "wrong sender"))
            }
            for _ in 0..<2 { _ = try await bench.call(FunctionLibrary.resumeProject(bench.keys)) }
            try await bench.intake("j", tokens(1))
            let claim = try #require(try await bench.claim("w1").claims.first)
            for _ in 0..<2 { _ = try await bench.call(FunctionLibrary.hold(bench.keys, milliseconds: 30_500)) }
            var record = RecordCall(job: "j", batch: "0", epoch: claim.epoch)
            record.retries = [.init(index: 0, dueMs: 1, parked: true, packed: "0|0|0|t0")]
            record.blockReason = "HTTP 403: no permission"
            record.finish = true
            for _ in 0..<2 { _ = try await bench.record(record, "w1") }
            _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: "j"))
            #expect(
                try await marks(bench) == [
                    "pause wrong sender", "resume resumed by an operator", "hold FCM asked to wait 31 s",
                    "block HTTP 403: no permission", "resume no job of the block is left",
                ]
            )
        }
    }

    @Test func operatorsPausesOfJobsAreMarkedTogetherByReason() async throws {
        try await withBench { bench in
            for id in ["a", "b", "c"] { try await bench.intake(id, tokens(1)) }
            for id in ["a", "b", "b"] {
                let actor = Actor("ana", reason: "wrong prices")
                _ = try await bench.call(FunctionLibrary.pause(bench.keys, job: id, by: actor))
            }
            _ = try await bench.call(FunctionLibrary.pause(bench.keys, job: "c"))
            for id in ["a", "c"] { _ = try await bench.call(FunctionLibrary.resume(bench.keys, job: id)) }
            #expect(
                try await marks(bench) == [
                    "pause 2 jobs, the last one b: paused by an operator: wrong prices",
                    "pause c: paused by an operator", "resume 2 jobs, the last one c: resumed by an operator",
                ]
            )
            let audit = try await bench.call(HistoryInquiry.audit(bench.keys, most: 10)).array ?? []
            let acts = audit.compactMap { StreamEntry($0) }.map {
                "\($0.text("action") ?? "") \($0.text("target") ?? "")"
            }
            #expect(acts == ["resume c", "resume a", "pause c", "pause b", "pause a"])
        }
    }

    @Test func lossIsMarkedOnceAndEachTakerOnce() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(2_500))
            #expect(try await bench.claim("w1").claims.count == 3)
            let counter = try #require(
                try await bench.call(RedisCommand("HGET", bench.keys.base + "leases", "w1")).string
            )
            for freed: Int64 in [3, -1] {
                let command = FunctionLibrary.declareDead(bench.keys, worker: "w1", counter: counter)
                #expect(try await bench.call(command).integer == freed)
            }
            try await bench.register("w3")
            for (worker, batches) in [("w2", 2), ("w3", 1)] {
                #expect(try await bench.claim(worker, most: batches).claims.count == batches)
            }
            let expected = ["lost w1, 3 batches", "takeover by w2 from w1", "takeover by w3 from w1"]
            #expect(try await marks(bench) == expected)
        }
    }

    @Test func workerThatLeavesOrGivesBatchesBackIsNoLoss() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(2_500))
            _ = try await bench.claim("w1")
            _ = try await bench.call(FunctionLibrary.deregister(bench.keys, worker: "w1"))
            let claim = try #require(try await bench.claim("w2", most: 1).claims.first)
            _ = try await bench.call(
                FunctionLibrary.release(bench.keys, worker: "w2", batch: "j/0", epoch: claim.epoch)
            )
            try await bench.register("w3")
            #expect(try await bench.claim("w3").claims.count == 3)
            #expect(try await marks(bench) == [])
        }
    }

    /// A worker that takes a lost batch and gives it back is not the one that was lost.
    @Test func batchThatIsGivenBackAfterATakeoverIsNotTakenOverAgain() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(2))
            _ = try await bench.claim("w1")
            try await bench.declareDead("w1")
            _ = try await bench.claim("w2")
            _ = try await bench.call(FunctionLibrary.deregister(bench.keys, worker: "w2"))
            try await bench.register("w3")
            #expect(try await bench.claim("w3").claims.count == 1)
            #expect(try await marks(bench) == ["lost w1, 1 batch", "takeover by w2 from w1"])
        }
    }

    /// Lists for people stop no send.
    @Test func keysOfAnotherTypeStopNoHold() async throws {
        try await withBench { bench in
            for name in ["marks", "audit", "finished"] {
                _ = try await bench.call(RedisCommand("SET", bench.keys.base + name, "x"))
            }
            _ = try await bench.call(FunctionLibrary.hold(bench.keys, milliseconds: 1))
            try await bench.intake("j", tokens(2))
            #expect(try await bench.words(FunctionLibrary.pause(bench.keys, job: "j")) == ["ok", "paused"])
            #expect(try await bench.words(FunctionLibrary.resume(bench.keys, job: "j")) == ["ok", "waiting"])
            try await Task.sleep(for: .milliseconds(5))
            try await bench.finish(try #require(try await bench.claim("w1").claims.first), "w1")
            #expect(try await bench.job("j")["state"] == "done")
        }
    }
}
