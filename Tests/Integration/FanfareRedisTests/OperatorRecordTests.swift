import FanfareModel
import FanfareRedis
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import FanfareClient

/// What operators look up later: acts, jobs that are over, details and history, from a real server.
@Suite struct OperatorRecordTests {
    private let keys = ProjectKeys(project: "demo")

    private func withBench(_ body: (OperatorTests.Bench) async throws -> Void) async throws {
        let server = try RedisServer()
        let client = try await RedisClient.connect(server.endpoint)
        defer {
            client.close()
            server.stop()
        }
        _ = try await client.send(FunctionLibrary.load())
        _ = try await client.send(JobStream.createGroup(keys))
        _ = try await client.send(FunctionLibrary.register(keys, worker: "w"))
        try await body(OperatorTests.Bench(server: server, client: client, keys: keys))
    }

    private func finish(_ bench: OperatorTests.Bench, failing: Set<Int> = []) async throws {
        for claim in try await bench.claim().claims {
            var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
            for recipient in claim.recipients {
                let isFailing = failing.contains(recipient.index)
                call.results.append(
                    index: recipient.index,
                    status: isFailing ? .failed : .sent,
                    failure: isFailing ? FailureKind(.unregistered, .remove) : nil
                )
            }
            call.finish = true
            #expect(RecordReply(try await bench.client.send(call.command(keys, worker: "w"))) == .ok())
        }
    }

    @Test func changesAreAuditedWithActorAndReasonNewestFirst() async throws {
        try await withBench { bench in
            let ana = FanfareOperator(redis: bench.client, project: "demo", actor: "ana@host")
            #expect(try await ana.audit(limit: 10) == [])
            try await bench.intake("j", .tokens(["a", "b"]))
            for _ in 0..<2 { _ = try await ana.pause("j", reason: "wrong\ntext") }
            _ = try await ana.resume("j")
            try await ana.pauseProject(reason: "ticket 7")
            for _ in 0..<2 { try await ana.resumeProject(reason: "fixed") }
            for _ in 0..<2 { _ = try await ana.cancel("j", reason: "old") }
            _ = try await bench.reject("bad")
            let dead = try #require(try await ana.deadEntries().first)
            _ = try await bench.projectOperator.drop(dead.id)
            let entries = try await ana.audit(limit: 100)
            #expect(
                entries.map { "\($0.action) \($0.target == dead.id ? "dead" : $0.target) \($0.actor) \($0.reason)" }
                    == [
                        "drop dead  ", "cancel j ana@host old", "resume_project  ana@host fixed",
                        "pause_project  ana@host ticket 7", "resume j ana@host ", "pause j ana@host wrong text",
                    ]
            )
            #expect(entries.allSatisfy { $0.atMs > 1_700_000_000_000 })
            #expect(try await ana.audit(limit: 2).count == 2)
        }
    }

    @Test func editedEntryIsPushedInPlaceOfTheRejectedOne() async throws {
        try await withBench { bench in
            let ana = FanfareOperator(redis: bench.client, project: "demo", actor: "ana")
            let fields = [(name: "token", value: Array("ab".utf8)), (name: "id", value: Array("bad".utf8))]
            #expect(try await ana.pushEdited("1-1", fields: fields) == .missing)
            _ = try await bench.reject("bad")
            let dead = try #require(try await ana.deadEntries().first)
            guard case .pushed(let entry) = try await ana.pushEdited(dead.id, fields: fields, reason: "typo") else {
                Issue.record("not pushed")
                return
            }
            let pushed = try bench.server.cli("XRANGE", keys.jobs, entry, entry)
            #expect(pushed.split(separator: "\n").dropFirst() == ["token", "ab", "id", "bad"])
            #expect(try await ana.deadEntries().isEmpty)
            #expect(try await ana.audit().map(\.action) == ["push_edited"])
            #expect(try await ana.audit().map(\.reason) == ["typo"])
            // A parked job keeps its fields, and an id that runs is not pushed again.
            try await bench.park("parked")
            let parked = try #require(try await ana.deadEntries().first)
            #expect(try await ana.pushEdited(parked.id, fields: fields) == .gone(job: "parked"))
            try await bench.intake("runs", .tokens(["a"]))
            _ = try await bench.reject("other")
            let other = try #require(try await ana.deadEntries(kind: .rejected).first)
            let taken = [(name: "id", value: Array("runs".utf8))]
            #expect(try await ana.pushEdited(other.id, fields: taken) == .busy(job: "runs"))
            #expect(try await ana.deadEntries().count == 2)
        }
    }

    @Test func finishedJobsComeInPagesNewestFirst() async throws {
        try await withBench { bench in
            let finished = bench.projectOperator
            #expect(try await finished.finishedJobs().isEmpty)
            for index in 0..<7 {
                try await bench.intake("j\(index)", .tokens(["a", "b"]))
                try await finish(bench)
            }
            // The times of ends are the server's; this gives each job its own.
            for index in 0..<7 {
                let at = "\(index < 2 ? 1_000 : 1_000 + index)"
                _ = try await bench.client.send(RedisCommand("ZADD", keys.base + "finished", at, "j\(index)"))
                _ = try await bench.client.send(RedisCommand("HSET", keys.job("j\(index)"), "finished_ms", at))
            }
            _ = try await bench.client.send(RedisCommand("DEL", keys.job("j5")))
            var pages: [[String]] = []
            var before: Int64?
            repeat {
                let page = try await finished.finishedJobs(limit: 2, before: before)
                if page.isEmpty { break }
                pages.append(page.map(\.id))
                before = page.last?.finishedMs
            } while pages.count < 9
            #expect(pages.map { $0.sorted() } == [["j4", "j6"], ["j2", "j3"], ["j0", "j1"]])
            let one = try await finished.finishedJobs(limit: 1, before: 1_001)
            #expect(Set(one.map(\.id)) == ["j0", "j1"], "jobs of one millisecond stay together")
            #expect(try bench.server.cli("ZCARD", keys.base + "finished").hasPrefix("6"), "the expired one was removed")
            let all = try await finished.jobs(includingOver: true)
            #expect(all.isWhole && all.jobs.count == 6)
            let some = try await finished.jobs(state: .done, limit: 3)
            #expect(!some.isWhole && some.jobs.count == 3)
        }
    }

    @Test func detailsShowErrorsTargetAndScheduleDuringAndAfterTheJob() async throws {
        try await withBench { bench in
            let projectOperator = bench.projectOperator
            #expect(try await projectOperator.details(of: "j") == nil)
            try await bench.intake("j", .tokens(["a", "b", "c"]), priority: 7)
            let open = try #require(try await projectOperator.details(of: "j"))
            #expect(open.message == Array("{}".utf8) && open.priority == 7 && open.errors.isEmpty)
            #expect(open.target == .init(kind: "token", name: nil, count: 3) && open.operation == "send")
            #expect(open.delivery == "at_least_once" && open.resultsPolicy == "all" && !open.validateOnly)
            try await finish(bench, failing: [0, 2])
            let over = try #require(try await projectOperator.details(of: "j"))
            #expect(over.message == nil && over.priority == 7 && over.progress.status.state == .done)
            #expect(over.errors == [JobError(error: "UNREGISTERED", action: "remove", count: 2)])
            try await bench.intake("news", .topic("sport"), priority: 5)
            let topic = try #require(try await projectOperator.details(of: "news"))
            #expect(topic.target == .init(kind: "topic", name: "sport", count: 1))
        }
    }

    @Test func historyIsReadForTheSpanThatIsAskedFor() async throws {
        try await withBench { bench in
            let record = HistoryRecord(counts: ["sent": 4, "latency.0": 4])
            let write = FunctionLibrary.writeHistory(keys, worker: "w", number: 1, version: "1.0", record)
            #expect(try await bench.client.send(write).string == "ok")
            for (span, count, step) in [
                (300_000, 30, 10_000), (3_600_000, 360, 10_000), (86_400_000, 288, 300_000), (1, 1, 10_000),
                (Int64.max, 288, 300_000),
            ] as [(Int64, Int, Int64)] {
                let history = try await bench.projectOperator.history(spanMs: span)
                #expect(history.samples.count == count && history.stepMs == step)
                #expect(history.samples.last.map { $0.atMs + step > history.nowMs } == true)
                guard count > 1 else { continue }
                #expect(history.samples.reduce(0) { $0 + $1.sent } == 4)
                #expect(history.marks.map(\.kind) == [.worker])
            }
        }
    }
}
