import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A push to one recipient as one text, from its intake to its result.
@Suite struct CompactJobTests {
    private let keys = LibraryBench.keys

    @Test func jobHasNoKeyOfItsOwnBeforeItsResult() async throws {
        try await withBench { bench in
            let before = try await bench.names()
            let job = try await bench.compact(nil)
            let added = Set(try await bench.names()).subtracting(before)
            #expect(added == ["compact", "compact:w1", "ctl"])
            #expect(try await bench.call(RedisCommand("XLEN", keys.jobs)).integer == 0)
            let reply = try await bench.claim("w2")
            #expect(reply.claims.isEmpty && reply.unfinished == 1)
            #expect(try await bench.finish(job) == .ok())
            let left = Set(try await bench.names()).subtracting(before)
            let shared: Set = ["results", "tally", "fingerprints_open", "ctl"]
            #expect(shared.isSubset(of: left) && left.subtracting(shared).map { $0.prefix(4) } == ["job:"])
            #expect(try await bench.claim("w2").unfinished == 0)
        }
    }

    /// Whichever way a job takes, its producer sees the same.
    @Test(arguments: [nil, "own"], [RecordCall.Status.sent, .failed, .unknown])
    func hashIsThatOfAnyOtherJob(id: String?, status: RecordCall.Status) async throws {
        try await withBench { bench in
            func change(_ job: inout Job) {
                job.priority = 7
                job.delivery = .atMostOnce
                job.traceparent = "00-a-b-01"
                job.tracestate = "x=y"
            }
            func result(_ record: inout RecordCall) {
                record.results = ResultBuffer()
                record.results.append(
                    index: 0,
                    status: status,
                    object: .wanted,
                    maybeDup: status == .unknown,
                    failure: FailureKind(.unregistered, .remove)
                ) { $0 += #"{"i":0}"#.utf8 }
                if status == .failed { record.feedback = [.removal] }
            }
            let job = try await bench.compact(id, change: change)
            #expect(try await bench.finish(job, change: result) == .ok())
            let short = try await left(bench)
            try await bench.clear()
            var long = try await bench.readJob(id)
            change(&long)
            guard case .taken(let epoch, _, nil) = try await bench.intake(long, taker: "w1") else {
                throw TestFailure("not taken")
            }
            var record = RecordCall(job: long.id, batch: "0", epoch: epoch)
            record.finish = true
            result(&record)
            #expect(try await bench.record(record, "w1") == .ok())
            #expect(try await left(bench) == short)
            #expect(short.count > 15)
        }
    }

    /// What a finished job leaves, without times and ids.
    private func left(_ bench: LibraryBench) async throws -> [String] {
        var lines: [String] = []
        for name in try await bench.names() {
            let key = keys.base + name
            let isJob = name.hasPrefix("job:")
            let shown = isJob ? "job" : name.hasPrefix("seen:") ? "seen" : name
            if isJob || name == "tally" {
                for (field, value) in try await bench.map(RedisCommand("HGETALL", key)) {
                    lines.append("\(shown) \(field) \(field.hasSuffix("_ms") ? "" : value)")
                }
                lines.append("\(shown) expires \(try await bench.call(RedisCommand("PTTL", key)).integer ?? -1 > 0)")
            } else if name == "results" || name == "feedback" {
                let entries = try await bench.call(RedisCommand("XRANGE", key, "-", "+")).array ?? []
                for entry in entries {
                    let words = entry.array?.last?.array?.compactMap(\.string) ?? []
                    lines.append("\(shown) \(words.filter { !$0.contains("-0") || $0.hasPrefix("00") }.sorted())")
                }
            } else {
                lines.append(shown)
            }
        }
        return lines.sorted()
    }

    /// What may happen to a job besides its result.
    enum Event: String, CaseIterable {
        case retry, longRetry, cancel, pause, release, death, unknown, question

        func happen(to job: CompactJob, _ bench: LibraryBench) async throws {
            let keys = bench.keys
            switch self {
            case .retry:
                let change = { (record: inout RecordCall) in record = bench.retry(of: job, id: "j") }
                #expect(try await bench.finish(job, change: change) == .ok())
                // A repeated call finds the batch closed.
                #expect(try await bench.finish(job, change: change) == .stale)
            case .longRetry:
                var record = bench.retry(of: job, id: "j")
                record.retries[0].parked = true
                #expect(record.shortCall(worker: "w1") == nil)
                (record.retries[0].parked, record.compact) = (false, nil)
                #expect(try await bench.record(record, "w1") == .ok())
            case .cancel: _ = try await bench.call(FunctionLibrary.cancel(keys, job: "j"))
            case .pause: _ = try await bench.call(FunctionLibrary.pause(keys, job: "j"))
            case .release:
                let call = FunctionLibrary.release(keys, worker: "w1", batch: "j/0", epoch: job.epoch, watermark: 0)
                #expect(try await bench.call(call).integer == 1)
            case .death: try await bench.declareDead("w1")
            case .unknown:
                _ = try await bench.call(FunctionLibrary.reconcile(keys, worker: "w1", isSameServer: true, known: []))
            case .question: #expect(try await bench.call(JobInquiry.expand(keys, job: "j")).integer == 1)
            }
        }

        /// The state of the job afterwards; the status that its recipient ends with.
        var outcome: (state: String, status: String) {
            switch self {
            case .retry, .longRetry: ("retrying", "sent")
            case .cancel: ("active", "cancelled")
            case .pause: ("paused", "sent")
            case .release, .death, .unknown, .question: ("active", "sent")
            }
        }
    }

    /// A job that waits is the same, whichever call said so.
    @Test func shortRetryWritesWhatALongOneWrites() async throws {
        try await withBench { bench in
            func written(_ event: Event) async throws -> [String] {
                let job = try await bench.compact("j") { $0.priority = 7 }
                try await event.happen(to: job, bench)
                var lines = try await bench.names().filter { !["ctl", "leases", "links"].contains($0) }
                for name in ["job:j", "spec:j", "wait:j", "tally"] {
                    for (field, value) in try await bench.map(RedisCommand("HGETALL", keys.base + name)) {
                        let isOwn = field.hasSuffix("_ms") || ["entry", "member", "since"].contains(field)
                        lines.append("\(name) \(field) \(isOwn ? "" : value)")
                    }
                }
                let due = RedisCommand("ZRANGE", keys.base + "retry", "0", "-1", "WITHSCORES")
                lines.append("\(try await bench.call(due))")
                try await bench.clear()
                return lines.sorted()
            }
            let short = try await written(.retry)
            #expect(try await written(.longRetry) == short)
            #expect(short.contains("tally retries 1") && short.contains("wait:j 0 1|1|0|t0"))
        }
    }

    @Test(arguments: Event.allCases) func everythingElseExpandsTheJob(event: Event) async throws {
        try await withBench { bench in
            let job = try await bench.compact("j") { $0.priority = 7 }
            try await event.happen(to: job, bench)
            #expect(try await bench.job("j")["state"] == event.outcome.state)
            #expect(try await bench.job("j")["priority"] == "7")
            let names = try await bench.names()
            #expect(names.contains("spec:j") && !names.contains("compact") && !names.contains("compact:w1"))
            if event == .pause { _ = try await bench.call(FunctionLibrary.resume(keys, job: "j")) }
            // The holder's result, where it still holds the batch; else the next holder's.
            if [.pause, .question].contains(event) {
                #expect(try await bench.finish(job) == .ok())
            } else {
                if event == .cancel {
                    try await Event.unknown.happen(to: job, bench)
                }
                let reply = try await bench.claim("w2")
                let claim = try #require(reply.claims.first)
                let isRetry = [.retry, .longRetry].contains(event)
                #expect(reply.specs.count == (isRetry ? 1 : 0) && (reply.specs["j"]?.message == nil) == !isRetry)
                let recipient = try #require(claim.recipients.first)
                #expect(recipient.value == "t0")
                if event == .death { #expect(recipient.progress == .maybeSent) }
                let status = RecordCall.Status(rawValue: event.outcome.status) ?? .sent
                try await bench.finish(claim, "w2", status: status)
                // The result of the first holder is late, and changes nothing.
                #expect(try await bench.finish(job) == .gone)
            }
            let hash = try await bench.job("j")
            #expect(hash[event.outcome.status] == "1" && hash["state"] != event.outcome.state)
            let expected: Set = ["job:j", "seen:j", "results", "tally"]
            let kept = Set(try await bench.names()).subtracting(expected)
            #expect(kept.filter { $0.hasSuffix("j") || $0.hasPrefix("compact") || $0 == "jobs_open" } == [])
            #expect(try await bench.call(RedisCommand("HGET", keys.base + "ctl", "left")).string == "0")
        }
    }

    /// What else names a job by its id sees a compact one, too.
    @Test func rejectedAndReplayedEntriesSeeTheJob() async throws {
        try await withBench { bench in
            let job = try await bench.compact("j")
            let entry = try #require(try await bench.call(RedisCommand("XADD", keys.jobs, "*", "id", "j")).string)
            let reject = FunctionLibrary.reject(
                keys,
                entryID: entry,
                job: "j",
                reason: "bad",
                keepMs: 60_000,
                fields: [("id", Array("j".utf8))]
            )
            _ = try await bench.call(reject)
            #expect(try await bench.job("j")["state"] == "active")
            let dead = try await bench.call(RedisCommand("XRANGE", keys.base + "dead", "-", "+")).array?.first?.array
            let id = try #require(dead?.first?.string)
            #expect(try await bench.words(FunctionLibrary.replay(keys, entryID: id)).first == "busy")
            #expect(try await bench.finish(job) == .ok())
        }
    }

    /// A worker that holds a compact job is not empty-handed: other workers find it, a quarantined batch waits, and permits
    /// flow.
    @Test func compactJobCountsAsHeld() async throws {
        try await withBench { bench in
            let job = try await bench.compact("j")
            #expect(try await bench.call(JobStream.countSigns([keys])).integer == 1, "its worker may die")
            _ = try await bench.call(RedisCommand("RPUSH", keys.base + "suspects", "gone/0"))
            var call = bench.request("w1")
            call.quarantine = .busy
            call.permitsSingle = 3
            #expect(try await bench.claim(call).permits == 3)
            #expect(try await bench.finish(job) == .ok())
            #expect(try await bench.claim(call).permits == 0)
        }
    }

    /// A job that waits inside its worker shows its hash, which the claims of any worker write.
    @Test func jobThatWaitsIsShown() async throws {
        try await withBench { bench in
            for id in ["a", "b"] { _ = try await bench.compact(id) }
            _ = try await bench.claim("w2")
            #expect(try await bench.job("a").isEmpty)
            for id in ["a", "b"] {
                let note = try await bench.call(RedisCommand("HGET", keys.base + "compact:w1", id)).string ?? ""
                let epoch = note.prefix { $0 != " " }
                _ = try await bench.call(RedisCommand("HSET", keys.base + "compact:w1", id, "\(epoch) 1"))
            }
            _ = try await bench.call(RedisCommand("HDEL", keys.base + "ctl", "looked"))
            _ = try await bench.claim("w2")
            for id in ["a", "b"] { #expect(try await bench.job(id)["state"] == "active") }
        }
    }

    /// An older worker could not take the jobs over from a worker that dies.
    @Test func noJobStaysCompactWhileThereIsAnOlderWorker() async throws {
        try await withBench { bench in
            for id in ["a", "b"] { _ = try await bench.compact(id) }
            _ = try await bench.claim("w2")
            #expect(try await bench.call(RedisCommand("HLEN", keys.base + "compact")).integer == 2)
            _ = try await bench.call(RedisCommand("HSET", keys.base + "leases", "older", "1"))
            _ = try await bench.call(RedisCommand("HDEL", keys.base + "ctl", "looked"))
            _ = try await bench.claim("w2")
            for id in ["a", "b"] { #expect(try await bench.job(id)["state"] == "active") }
            #expect(try await bench.call(RedisCommand("HLEN", keys.base + "compact")).integer == 0)
        }
    }

    /// Many jobs of a dead worker are freed by several calls, each of which Redis ends soon.
    @Test func deadWorkersJobsAreFreedStepByStep() async throws {
        try await withBench { bench in
            let count = Int(FunctionLibrary.mostFreed) + 200
            var calls: [RedisCommand] = []
            for _ in 0..<count {
                calls.append(try #require(bench.intakeCall(try await bench.readJob(nil), taker: "w1").shortCall()))
            }
            for start in stride(from: 0, to: count, by: 64) {
                let part = Array(calls[start..<min(start + 64, count)])
                _ = try await bench.call(FunctionLibrary.coalesce(.intake, keys, part))
            }
            let counter = try await bench.call(RedisCommand("HGET", keys.base + "leases", "w1")).string ?? ""
            let free = FunctionLibrary.declareDead(keys, worker: "w1", counter: counter)
            #expect(try await bench.call(free).integer == FunctionLibrary.mostFreed)
            #expect(try await bench.call(free).integer == 200)
            #expect(try await bench.call(free).integer == -1)
            #expect(try await bench.call(RedisCommand("LLEN", keys.base + "orphans")).integer == Int64(count))
            #expect(try await bench.names().filter { $0.hasPrefix("compact") } == [])
        }
    }

    /// An older worker declares a worker dead, and knows no compact job: a janitor finds it.
    @Test func janitorFreesTheJobsOfAWorkerWithoutALease() async throws {
        try await withBench { bench in
            _ = try await bench.compact("j")
            _ = try await bench.call(RedisCommand("HDEL", keys.base + "leases", "w1"))
            #expect(try await bench.claim("w2").claims.isEmpty)
            _ = try await bench.call(FunctionLibrary.repair(keys, cursor: "0", most: 10))
            #expect(try await bench.claim("w2").claims.map(\.job) == ["j"])
        }
    }

    @Test func counterTellsThatAWorkerKnowsCompactJobs() async throws {
        try await withBench { bench in
            for _ in 0..<2 { try await bench.register("w1") }
            let counters = try await bench.map(RedisCommand("HGETALL", keys.base + "leases"))
            #expect(counters.count == 2 && counters.values.allSatisfy(FunctionLibrary.knowsCompactJobs))
            let register = FunctionLibrary.register(keys, worker: "w1")
            #expect(RegisterReply(try await bench.call(register))?.allKnowCompactJobs == true)
            _ = try await bench.call(RedisCommand("HSET", keys.base + "leases", "older", "1"))
            #expect(RegisterReply(try await bench.call(register))?.allKnowCompactJobs == false)
            #expect(!FunctionLibrary.knowsCompactJobs("7") && !FunctionLibrary.knowsCompactJobs(""))
        }
    }

    /// A key of the wrong type stops one job, and not the others of its call.
    @Test func oneJobThatCannotBeWrittenStopsNoOther() async throws {
        try await withBench { bench in
            var jobs: [CompactJob] = []
            for id in ["a", "b", "c"] { jobs.append(try await bench.compact(id)) }
            _ = try await bench.call(RedisCommand("SET", keys.job("b"), "no hash"))
            let calls = try jobs.map { try #require(bench.record(of: $0).shortCall(worker: "w1")) }
            let replies = try await bench.call(FunctionLibrary.coalesce(.record, keys, calls)).array ?? []
            #expect(RecordReply(replies[0]) == .ok() && RecordReply(replies[2]) == .ok())
            guard case .error(let line) = replies[1] else { throw TestFailure("\(replies[1])") }
            #expect(line.hasPrefix("WRONGTYPE "))
            _ = try await bench.call(RedisCommand("DEL", keys.job("b")))
            #expect(try await bench.finish(jobs[1]) == .ok())
            #expect(try await bench.call(RedisCommand("HGET", keys.base + "tally", "sent")).string == "3")
            #expect(try await bench.call(RedisCommand("EXISTS", keys.base + "compact")).integer == 0)
        }
    }

    /// What a job costs Redis: commands of one call are shared by its jobs.
    @Test func jobsShareTheCommandsOfACall() async throws {
        try await withBench { bench in
            let count = 50
            var calls: [IntakeCall] = []
            for _ in 0..<count {
                calls.append(bench.intakeCall(try await bench.readJob(nil), taker: "w1"))
            }
            _ = try await bench.call(RedisCommand("CONFIG", "RESETSTAT"))
            let short = try calls.map { try #require($0.shortCall()) }
            let taken = try await bench.call(FunctionLibrary.coalesce(.intake, keys, short)).array ?? []
            let records = try zip(calls, taken).map { call, reply in
                guard case .taken(_, _, let held?)? = IntakeReply(reply) else { throw TestFailure("\(reply)") }
                return try #require(bench.record(of: call.compactJob(held: held)).shortCall(worker: "w1"))
            }
            _ = try await bench.call(FunctionLibrary.coalesce(.record, keys, records))
            let stats = try await bench.call(RedisCommand("INFO", "commandstats")).string ?? ""
            let commands = stats.matches(of: /calls=(\d+)/).reduce(0) { $0 + (Int($1.output.1) ?? 0) }
            // The result, the hash and its expiry of each job, and what the two calls share.
            #expect((3 * count...3 * count + 60).contains(commands), "\(commands) commands")
        }
    }
}

extension LibraryBench {
    /// Removes everything but the functions, and registers the workers again.
    fileprivate func clear() async throws {
        _ = try await call(RedisCommand("FLUSHALL"))
        _ = try await call(JobStream.createGroup(keys))
        for worker in ["w1", "w2"] { try await register(worker) }
    }
}
