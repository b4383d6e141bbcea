import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The errors of one job, counted once for each recipient, and the list of jobs that are over.
@Suite struct JobErrorTests {
    private static let dead = FailureKind(.unregistered, .remove)
    private static let bad = FailureKind(.invalidArgument, .fixMessage)

    /// - Parameter failures: by index; nil is a recipient that was sent to.
    private func record(_ claim: Claim, _ failures: [(Int, FailureKind?)], number: Int = 1) -> RecordCall {
        var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        call.number = number
        for (index, failure) in failures {
            call.results.append(index: index, status: failure == nil ? .sent : .failed, failure: failure)
        }
        return call
    }

    private func errors(_ bench: LibraryBench, _ job: String) async throws -> [String: String] {
        try await bench.job(job).filter { $0.key.hasPrefix("error.") }
    }

    @Test func repeatedAndLateFlushesCountEachRecipientOnce() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(6)) { $0.results = .none }
            let claim = try #require(try await bench.claim("w1").claims.first)
            let first = record(claim, [(0, Self.dead), (1, nil), (2, Self.bad), (3, Self.dead)])
            for _ in 0..<2 { #expect(try await bench.record(first, "w1") == .ok()) }
            #expect(
                try await errors(bench, "j") == [
                    "error.UNREGISTERED.remove": "2", "error.INVALID_ARGUMENT.fix_message": "1",
                ]
            )
            // Another worker says of the same recipients, and one more, what it knows.
            var late = record(claim, [(3, Self.bad), (0, Self.bad), (1, Self.dead), (4, Self.dead)])
            late.late = true
            #expect(try await bench.record(late, "w2") == .ok())
            var last = record(claim, [(5, Self.bad)], number: 2)
            last.finish = true
            #expect(try await bench.record(last, "w1") == .ok())
            let job = try await bench.job("j")
            #expect(job["state"] == "done" && job["failed"] == "5" && job["sent"] == "1")
            #expect(job["error.UNREGISTERED.remove"] == "3" && job["error.INVALID_ARGUMENT.fix_message"] == "2")
        }
    }

    @Test func replayedResultsKeepTheirErrors() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(4))
            let claim = try #require(try await bench.claim("w1").claims.first)
            var all = ResultBuffer()
            all.append(record(claim, [(0, nil), (1, Self.bad)]).results)
            all.append(record(claim, [(2, Self.dead), (3, nil)]).results)
            for (number, part) in all.divided(into: [1, 3]).enumerated() {
                var call = RecordCall(job: "j", batch: "0", epoch: claim.epoch)
                call.results = part.flaggedMaybeDuplicate()
                call.late = true
                call.number = number
                #expect(try await bench.record(call, "w1") == .ok())
            }
            #expect(
                try await errors(bench, "j") == [
                    "error.UNREGISTERED.remove": "1", "error.INVALID_ARGUMENT.fix_message": "1",
                ]
            )
        }
    }

    @Test func oneRecipientJobShowsItsError() async throws {
        try await withBench { bench in
            let calls = [0, 1].map { "s\($0)" }
            for id in calls { try await bench.intake(id, tokens(1)) }
            let claims = try await bench.claim("w1").claims
            let records = claims.map { claim in
                var call = record(claim, [(0, claim.job == "s0" ? Self.dead : nil)])
                call.finish = true
                return call.command(bench.keys, worker: "w1")
            }
            _ = try await bench.call(FunctionLibrary.coalesce(.record, bench.keys, records))
            #expect(try await errors(bench, "s0") == ["error.UNREGISTERED.remove": "1"])
            #expect(try await errors(bench, "s1") == [:])
        }
    }

    @Test func onlyFlushesWithFailuresCarryErrors() throws {
        let keys = LibraryBench.keys
        var call = RecordCall(job: "j", batch: "0", epoch: "1")
        call.results.append(index: 0, status: .sent)
        let plain = call.command(keys, worker: "w").count
        call.results.append(index: 1, status: .failed, failure: Self.dead)
        call.results.append(index: 2, status: .failed, failure: Self.bad)
        call.results.append(index: 3, status: .failed, failure: Self.dead)
        let command = call.command(keys, worker: "w")
        #expect(command.count == plain + 2)
        let words = (plain..<command.count).map { String(decoding: command.word($0), as: UTF8.self) }
        #expect(words == ["errors", "UNREGISTERED.remove INVALID_ARGUMENT.fix_message aba"])
    }

    /// What only a broken or hostile worker sends.
    @Test(arguments: ["", " ", "x", "X.y ", "X.y b", "X.y abcdef", "a b c"])
    func malformedErrorsAreIgnored(text: String) async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(3))
            let claim = try #require(try await bench.claim("w1").claims.first)
            let command = record(claim, [(1, Self.dead)]).command(bench.keys, worker: "w1")
            var changed = RedisCommand("FCALL")
            for place in 1..<command.count - 1 { changed.append(Array(command.word(place))) }
            changed.append(text)
            #expect(RecordReply(try await bench.call(changed)) == .ok())
            #expect(try await bench.job("j")["failed"] == "1")
        }
    }

    // MARK: Jobs that are over

    private func finished(_ bench: LibraryBench) async throws -> [String] {
        try await bench.call(RedisCommand("ZRANGE", bench.keys.base + "finished", "0", "-1")).array?
            .compactMap(\.string) ?? []
    }

    private func finishAll(_ bench: LibraryBench) async throws {
        for claim in try await bench.claim("w1", most: 100).claims { try await bench.finish(claim, "w1") }
    }

    @Test func jobsWithAnIDOrSeveralRecipientsAreListed() async throws {
        try await withBench { bench in
            try await bench.intake("own", tokens(1))
            try await bench.intake("12-0", tokens(1))
            try await bench.intake("empty", tokens(0))
            let anonymous = try #require(
                try await bench.call(RedisCommand("XADD", bench.keys.jobs, "*", "x", "1")).string
            )
            let several = try #require(
                try await bench.call(RedisCommand("XADD", bench.keys.jobs, "*", "x", "1")).string
            )
            for (entry, count) in [(anonymous, 1), (several, 2)] {
                let job = Job(
                    id: entry,
                    hasOwnID: false,
                    entryID: entry,
                    target: tokens(count),
                    message: Array("{}".utf8)
                )
                #expect(try await bench.intake(job, taker: nil) == .queued)
            }
            try await finishAll(bench)
            #expect(Set(try await finished(bench)) == ["own", "12-0", "empty", several])
            #expect(try await bench.job(anonymous)["state"] == "done")
        }
    }

    @Test func rejectedAndCancelledJobsAreListed() async throws {
        try await withBench { bench in
            let entry = try #require(try await bench.call(RedisCommand("XADD", bench.keys.jobs, "*", "x", "1")).string)
            let other = try #require(try await bench.call(RedisCommand("XADD", bench.keys.jobs, "*", "x", "1")).string)
            for (entry, id) in [(entry, "bad"), (other, other)] {
                let call = FunctionLibrary.reject(
                    bench.keys,
                    entryID: entry,
                    job: id,
                    reason: "no",
                    keepMs: 1_000,
                    fields: []
                )
                #expect(try await bench.call(call).string == "rejected")
                let life = try await bench.call(RedisCommand("PTTL", bench.keys.job(id))).integer ?? 0
                #expect((1...1_000).contains(life), "the hash lives as long as the call says")
            }
            try await bench.intake("c", tokens(2))
            _ = try await bench.call(FunctionLibrary.cancel(bench.keys, job: "c"))
            for claim in try await bench.claim("w1").claims { try await bench.finish(claim, "w1", status: .cancelled) }
            #expect(try await finished(bench) == ["bad", "c"])
        }
    }

    @Test func listKeepsTheLastThousand() async throws {
        try await withBench { bench in
            var fill = RedisCommand("ZADD", bench.keys.base + "finished")
            for place in 1...999 {
                fill.append("\(place)")
                fill.append("old-\(place)")
            }
            _ = try await bench.call(fill)
            for id in ["a", "b", "c"] { try await bench.intake(id, tokens(1)) }
            try await bench.intake("d", tokens(2))
            try await finishAll(bench)
            let kept = try await finished(bench)
            #expect(kept.count == 1_000 && Set(kept.suffix(4)) == ["a", "b", "c", "d"])
            #expect(kept.first == "old-4")
        }
    }

    @Test func hashShowsHowTheJobIsSentAfterItsEnd() async throws {
        try await withBench { bench in
            try await bench.intake("plain", tokens(2))
            try await bench.intake("topic", .topic("news")) { $0.priority = 8 }
            try await bench.intake("later", tokens(2)) {
                $0.notBefore = 4_000_000_000_000
                $0.expiresAt = 4_000_000_100_000
                $0.delivery = .atMostOnce
                $0.results = .none
                $0.validateOnly = true
            }
            let plain = try await bench.job("plain")
            for name in ["kind", "target", "priority", "delivery", "results", "not_before", "expires_at"] {
                #expect(plain[name] == nil, "\(name)")
            }
            try await finishAll(bench)
            let topic = try await bench.job("topic")
            #expect(topic["state"] == "done" && topic["kind"] == "topic" && topic["target"] == "news")
            #expect(topic["priority"] == "8")
            let later = try await bench.job("later")
            #expect(later["not_before"] == "4000000000000" && later["expires_at"] == "4000000100000")
            #expect(later["delivery"] == "at_most_once" && later["results"] == "none" && later["validate_only"] == "1")
        }
    }
}
