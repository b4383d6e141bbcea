import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Counts of subscriptions, and what the slot and a job's hash make of them.
@Suite struct AudienceTests {
    /// What a worker says of tokens that it subscribed.
    private static func subscribed(_ tokens: [String], topic: String) -> [UInt8] {
        Array("\(topic)\n".utf8)
            + tokens.flatMap { token in
                let hash = ByteHash.of(token)
                return (0..<8).map { UInt8(truncatingIfNeeded: hash >> UInt64(8 * $0)) }
            }
    }

    private func subscribe(_ bench: LibraryBench, _ id: String, _ names: [String], topic: String) async throws {
        try await bench.intake(id, .tokens(RecipientList(names))) {
            $0.operation = .subscribe
            $0.subscription = topic
            $0.message = []
        }
        var asked = ClaimCall(
            worker: "w1",
            most: 10,
            wanted: 0,
            wantedSingle: 0,
            window: 128,
            retries: 0,
            quotaPerMinute: 600_000
        )
        asked.wantedManaged = 1_000
        let claim = try #require(try await bench.claim(asked).claims.first { $0.job == id })
        var call = RecordCall(job: id, batch: claim.batch, epoch: claim.epoch)
        call.results = ResultBuffer(claim.recipients.map { OneResult(index: $0.index, object: "") })
        call.subscribed = Self.subscribed(names, topic: topic)
        call.finish = true
        #expect(try await bench.record(call, "w1") == .ok())
    }

    @discardableResult
    private func intake(
        _ bench: LibraryBench,
        _ id: String,
        _ estimate: AudienceEstimate?,
        topic: String = "news"
    ) async throws -> AudienceReply? {
        let entry = try #require(try await bench.call(RedisCommand("XADD", bench.keys.jobs, "*", "x", "1")).string)
        let job = Job(id: id, hasOwnID: true, entryID: entry, target: .topic(topic), message: Array("{}".utf8))
        var call = bench.intakeCall(job, taker: nil)
        call.audience = estimate
        call.fanoutRate = 10
        let reply = try await bench.call(call.command(bench.keys))
        #expect(IntakeReply(reply) == .queued)
        return AudienceReply(reply)
    }

    private func facts(_ bench: LibraryBench, _ id: String) async throws -> [String?] {
        let job = try await bench.job(id)
        return [job["audience_source"], job["audience_estimate"]]
    }

    private func names(_ range: Range<Int>) -> [String] { range.map { "device-\($0):APA91b" } }

    /// The end of the turn of a job that holds the slot, and the project's time.
    private func turn(_ bench: LibraryBench, _ id: String) async throws -> (until: Int64, now: Int64)? {
        let claim = try #require(try await bench.claim("w1").claims.first { $0.job == id })
        try await bench.finish(claim, "w1")
        let active = try await bench.map(RedisCommand("HGETALL", bench.keys.base + "active"))
        let now = try await bench.claim("w2").nowMs
        return active[id].flatMap { $0.split(separator: "|").last }.flatMap { Int64($0) }.map { ($0, now) }
    }

    @Test func aTopicKeepsTheSlotForTheSubscriptionsThatWereCounted() async throws {
        try await withBench { bench in
            try await subscribe(bench, "s1", names(0..<60), topic: "news")
            // Counted once, however often they are subscribed.
            try await subscribe(bench, "s2", names(40..<100), topic: "news")
            let reply = try #require(try await intake(bench, "send", .counted(formula: "news")))
            #expect(reply.source == .counted && (95...105).contains(reply.size), "\(reply)")
            #expect(try await facts(bench, "send") == ["counted", "\(reply.size)"])
            // Ten recipients a second.
            let turn = try #require(try await turn(bench, "send"))
            #expect(turn.until - turn.now <= reply.size * 100)
            #expect(turn.until - turn.now > 0)
        }
    }

    /// Tokens that were subscribed while the job waited for its turn count, too.
    @Test func audienceIsCountedAgainAtTheAnswer() async throws {
        try await withBench { bench in
            #expect(try await intake(bench, "send", .counted(formula: "news"))?.source == AudienceEstimate.Source.none)
            #expect(try await facts(bench, "send") == ["none", "0"])
            let claim = try #require(try await bench.claim("w1").claims.first)
            try await subscribe(bench, "s", names(0..<30), topic: "news")
            try await bench.finish(claim, "w1")
            #expect(try await facts(bench, "send") == ["counted", "30"])
        }
    }

    @Test func unknownTopicFreesTheSlotAtOnce() async throws {
        try await withBench { bench in
            let reply = try #require(try await intake(bench, "send", .counted(formula: "news")))
            #expect(reply.source == .none && reply.size == 0)
            #expect(try await turn(bench, "send") == nil)
        }
    }

    @Test func givenAudienceSizeIsKept() async throws {
        try await withBench { bench in
            try await subscribe(bench, "s", names(0..<10), topic: "news")
            #expect(try await intake(bench, "one", .known(5_000, .config))?.source == .config)
            #expect(try await facts(bench, "one") == ["config", "5000"])
            let turn = try #require(try await turn(bench, "one"))
            #expect((400_000...500_000).contains(turn.until - turn.now))
            // What FCM only checks has no audience.
            #expect(try await intake(bench, "two", nil) == nil)
            #expect(try await facts(bench, "two") == [nil, nil])
        }
    }

    @Test(arguments: [
        ("a b +", "counted", 50), ("a b <", "counted", 20), ("a #1000000000000 +", "counted", 1_000_000_000_030),
        ("a #7 <", "counted", 7), ("a b + #40 <", "counted", 40), ("a x +", "none", 0), ("a x <", "none", 0),
        ("a b", "none", 0), ("+", "none", 0), ("", "none", 0),
    ])
    func aConditionIsWorkedOutFromItsTopics(formula: String, source: String, size: Int) async throws {
        try await withBench { bench in
            try await subscribe(bench, "s1", names(0..<30), topic: "a")
            try await subscribe(bench, "s2", names(0..<20), topic: "b")
            let reply = try #require(try await intake(bench, "send", .counted(formula: formula)))
            #expect(reply.source.rawValue == source && reply.size == Int64(size))
        }
    }

    @Test func onlyTheTenThousandTopicsLastUsedAreCounted() async throws {
        try await withBench { bench in
            try await subscribe(bench, "s1", names(0..<10), topic: "old")
            try await subscribe(bench, "s2", names(0..<20), topic: "used")
            let fill = """
                for n = 1, 9998 do
                  redis.call('PFADD', KEYS[1] .. 'subscribed:t' .. n, 'x')
                  redis.call('ZADD', KEYS[1] .. 'counted', redis.call('TIME')[1] * 1000, 't' .. n)
                end
                """
            try bench.server.cli("EVAL", fill, "1", bench.keys.base)
            // A send uses a count as a subscription does.
            try await intake(bench, "send", .counted(formula: "used"), topic: "used")
            try bench.server.cli("ZADD", bench.keys.base + "counted", "1", "old")
            try await subscribe(bench, "s3", names(0..<5), topic: "new")
            let left = try bench.server.cli("ZCARD", bench.keys.base + "counted")
            #expect(left == "10000")
            for (topic, count) in [("old", "0"), ("used", "20"), ("new", "5")] {
                #expect(try bench.server.cli("PFCOUNT", bench.keys.base + "subscribed:\(topic)") == count, "\(topic)")
            }
        }
    }

    /// An estimate keeps nothing from being written.
    @Test func unreadableCountIsAnUnknownSize() async throws {
        try await withBench { bench in
            for key in ["subscribed:news", "counted"] { try bench.server.cli("SET", bench.keys.base + key, "spoilt") }
            try await subscribe(bench, "s", names(0..<10), topic: "news")
            try await subscribe(bench, "t", names(0..<10), topic: "other")
            #expect(try await bench.job("s")["sent"] == "10")
            #expect(try await bench.job("t")["sent"] == "10")
            let reply = try #require(try await intake(bench, "send", .counted(formula: "news")))
            #expect(reply.source == .none)
        }
    }

    /// Redis keeps counts that are made of it: another function would count every token again.
    @Test func tokenHashIsStable() {
        #expect(ByteHash.of("device-7:APA91b") == 12_563_859_769_468_027_447)
    }
}
