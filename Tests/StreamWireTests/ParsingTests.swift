import FanfareModel
import StreamWire
import Testing

@Suite struct ParsingTests {
    @Test func queueOrderIsPriorityThenArrival() {
        let members = [
            ProjectKeys.queueMember(priority: 5, entryID: "1700000000000-10", jobID: "c"),
            ProjectKeys.queueMember(priority: 9, entryID: "1800000000000-0", jobID: "a"),
            ProjectKeys.queueMember(priority: 5, entryID: "1700000000000-9", jobID: "b"),
            ProjectKeys.queueMember(priority: 0, entryID: "1-1", jobID: "d"),
        ]
        #expect(members.sorted().map { $0.suffix(1) } == ["a", "b", "c", "d"])
    }

    @Test func commandsKeepBytesAsTheyAre() {
        var command = RedisCommand("SET", "k")
        command.append([0, 255, 13, 10] as [UInt8])
        #expect(command.count == 3)
        #expect(Array(command.word(2)) == [0, 255, 13, 10])
        #expect(Array(command.word(0)) == Array("SET".utf8))
    }

    @Test func aConditionWithBarsSurvivesItsWait() throws {
        let history = RecipientHistory(attempts: 2, firstAttemptMs: 77, maybeDuplicate: true)
        let condition = "'a' in topics || 'b' in topics"
        let claim = RedisValue.array([
            .bulk(Array("j".utf8)), .bulk(Array("r1".utf8)), .bulk(Array("9".utf8)), .bulk(Array("retry".utf8)),
            .bulk(Array("0".utf8)), .bulk(Array("128".utf8)), .bulk(Array("1".utf8)), .bulk([]), .bulk([]), .bulk([]),
            .array([.bulk(Array("4".utf8)), .bulk(Array(history.packed(with: condition).utf8))]),
            .bulk([]), .bulk(Array("1".utf8)),
        ])
        let zero = RedisValue.bulk(Array("0".utf8))
        let reply = RedisValue.array(
            [.bulk(Array("ok".utf8)), zero, zero, zero, .bulk([]), zero, .bulk([]), zero, zero, .bulk([]), .bulk([])]
                + [
                    .bulk(Array("7-1".utf8)), .bulk(Array("8-1".utf8)),
                    .array(["end", "k", "cancelled"].map { .bulk(Array($0.utf8)) }), claim,
                ]
        )
        guard case .reply(let parsed)? = ClaimReply.parse(reply) else {
            Issue.record("not parsed")
            return
        }
        let recipient = try #require(parsed.claims.first?.recipients.first)
        #expect(parsed.news == [.end(job: "k", status: "cancelled")])
        #expect(parsed.newsCursor == "7-1")
        #expect(parsed.refusedCursor == "8-1")
        #expect(parsed.claims.first?.isAlone == true)
        #expect(recipient == ClaimedRecipient(index: 4, value: condition, history: history))
    }

    @Test(arguments: [
        RedisValue.null, .integer(1), .array([]), .array([.bulk(Array("ok".utf8))]),
        .array([.bulk(Array("what".utf8)), .null]), .array([.null]), .bulk(Array("ok".utf8)),
    ])
    func anythingElseIsNilNotATrap(value: RedisValue) {
        #expect(ClaimReply.parse(value) == nil)
        #expect(IntakeReply(value) == nil)
        #expect(StreamEntry(value) == nil)
        #expect(JobSpec(value) == nil)
    }

    @Test func aSpecComesBackAsItWasWritten() throws {
        let job = Job(
            id: "j",
            hasOwnID: true,
            entryID: "1-1",
            target: .topic("news"),
            message: Array(#"{"data":{"k":"é"}}"#.utf8),
            format: .legacy,
            priority: 7,
            expiresAt: 99,
            validateOnly: true,
            results: .failures,
            delivery: .atMostOnce,
            traceparent: "00-x",
            audienceSize: 1_000
        )
        let call = IntakeCall(
            job: job,
            dedupeMs: 1,
            keepMs: 2,
            taker: nil,
            window: 3,
            quotaPerMinute: 60,
            fanoutRate: 500
        )
        let command = call.command(ProjectKeys(project: "p"))
        // From the number of pairs on, the call holds the pairs as the hash will.
        let words = (0..<command.count).map { Array(command.word($0)) }
        let count = try #require(Int(String(decoding: words[18], as: UTF8.self)))
        var flat = words[19..<(19 + 2 * count)].map { RedisValue.bulk($0) }
        #expect(words[16] == Array("aimed".utf8))
        #expect(flat.suffix(2) == [.bulk(Array("hold_ms".utf8)), .bulk(Array("2000".utf8))])
        flat += [.bulk(Array("total".utf8)), .bulk(Array("1".utf8))]
        #expect(try #require(JobSpec(.array(flat))) == JobSpec(job: job, total: 1))
    }
}
