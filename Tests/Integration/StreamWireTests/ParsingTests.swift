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
        #expect(members[0] == "400000001700000000000-00000000000000000010/c")
    }

    @Test func commandsHoldNumbersInDigits() {
        var numbers: [Int64] = [0, 7, 1_234, .max, -1, -10, .min]
        for power in 1..<19 {
            let ten = (0..<power).reduce(Int64(1)) { product, _ in product * 10 }
            numbers += [ten - 1, ten, ten + 1, ten &* 9]
        }
        var command = RedisCommand("X")
        for number in numbers { command.append(number) }
        let words = (1..<command.count).map { String(decoding: command.word($0), as: UTF8.self) }
        #expect(words == numbers.map { String($0) })
    }

    @Test func commandsKeepBytesAsTheyAre() {
        var command = RedisCommand("SET", "k")
        command.append([0, 255, 13, 10] as [UInt8])
        #expect(command.count == 3)
        #expect(Array(command.word(2)) == [0, 255, 13, 10])
        #expect(Array(command.word(0)) == Array("SET".utf8))
    }

    private static func pairs(_ pairs: KeyValuePairs<String, RedisValue>) -> RedisValue {
        .array(pairs.flatMap { [.bulk(Array($0.key.utf8)), $0.value] })
    }

    private static func text(_ text: String) -> RedisValue { .bulk(Array(text.utf8)) }

    /// A reply of `claim` with news and one claim, and with a name that is not known.
    private static func reply(_ claim: RedisValue) -> RedisValue {
        pairs([
            "outcome": text("ok"), "later": .integer(1), "now": text("0"), "clock_offset": text("-9"),
            "hold_ms": text("0"), "probe_ms": text("0"), "block": text(""), "next_due": text("0"),
            "copying": text(""), "unfinished": text("0"), "permits": text("0"), "pause": text(""),
            "pressure": text(""), "news_cursor": text("7-1"), "refused_cursor": text("8-1"),
            "news": .array(["end", "k", "cancelled"].map(text)), "claims": .array([claim]),
        ])
    }

    @Test(arguments: [
        ("one", ["one"]), ("one\ntwo", ["one", "two"]), ("\n", ["", ""]), ("a\n\nb\n", ["a", "", "b", ""]), ("", [""]),
        ("é\n\u{1F600}", ["é", "\u{1F600}"]),
    ])
    func recipientsOfABatchStandOneALine(lines: String, recipients: [String]) {
        let claim = Self.pairs([
            "job": Self.text("j"), "batch": Self.text("0"), "epoch": Self.text("9"), "pass": Self.text("first"),
            "from": Self.text("7"), "watermark": Self.text("128"), "deliveries": Self.text("1"),
            "recipients": Self.text(lines),
        ])
        let reply = Self.reply(claim)
        guard case .reply(let parsed)? = ClaimReply.parse(reply) else {
            Issue.record("not parsed")
            return
        }
        let expected = recipients.enumerated().map { ClaimedRecipient(index: 7 + $0.offset, value: $0.element) }
        #expect(parsed.claims.first?.recipients == expected)
    }

    /// Sums and differences of these numbers must not trap, whatever Redis answers.
    @Test(arguments: [
        ("9223372036854775807", Int64(1_000_000_000_000_000)), ("-9223372036854775808", -1_000_000_000_000_000),
    ])
    func numbersOfAClaimAreBounded(number: String, bounded: Int64) throws {
        let claim = Self.pairs([
            "job": Self.text("j"), "batch": Self.text("0"), "epoch": Self.text("9"), "pass": Self.text("first"),
            "from": Self.text("7"), "watermark": Self.text("128"), "deliveries": Self.text("1"),
            "recipients": Self.text("one"),
        ])
        guard case .array(let words) = Self.reply(claim) else { return }
        let hostile = words.map { $0 == Self.text("0") ? Self.text(number) : $0 }
        guard case .reply(let reply)? = ClaimReply.parse(.array(hostile)) else {
            return #expect(Bool(false), "not parsed")
        }
        #expect(reply.nowMs == bounded && reply.holdMs == bounded && reply.nextDueMs == bounded)
        #expect(reply.permits == bounded && reply.unfinished == bounded)
    }

    @Test func idsAreOrderedAsNumbers() {
        #expect(StreamEntry.isLater("10-0", than: "9-5") && !StreamEntry.isLater("9-5", than: "10-0"))
        #expect(StreamEntry.isLater("7-10", than: "7-9") && !StreamEntry.isLater("7-9", than: "7-9"))
        #expect(StreamEntry.isLater("1-0", than: "0") && !StreamEntry.isLater("x", than: "0-0"))
    }

    private static func streams(_ entries: [RedisValue]) -> RedisValue {
        .array([.array([.bulk(Array("stream".utf8)), .array(entries)])])
    }

    private static func entry(_ id: String, _ fields: RedisValue) -> RedisValue {
        .array([.bulk(Array(id.utf8)), fields])
    }

    /// A page of one entry that was deleted while it was pending is not the end of what is pending.
    @Test func deletedEntryIsSkipped() {
        let fields = RedisValue.array([.bulk(Array("token".utf8)), .bulk(Array("t".utf8))])
        let deleted = Self.streams([Self.entry("1-0", .null)])
        #expect(StreamEntry.byStream(deleted).map(\.entries.count) == [0])
        #expect(StreamEntry.lastID(deleted) == "1-0" && !StreamEntry.isEmpty(deleted))
        let mixed = Self.streams([Self.entry("1-0", fields), Self.entry("2-0", .null)])
        #expect(StreamEntry.byStream(mixed).first?.entries.map(\.id) == ["1-0"])
        #expect(StreamEntry.lastID(mixed) == "2-0")
        for empty in [Self.streams([]), .null, .array([]), .integer(1)] {
            #expect(StreamEntry.lastID(empty) == nil && StreamEntry.isEmpty(empty))
        }
        #expect(StreamEntry.byStream(mixed)[0].entries[0].byteCount == 6)
    }

    @Test func aConditionWithBarsSurvivesItsWait() throws {
        let history = RecipientHistory(attempts: 2, firstAttemptMs: 77, maybeDuplicate: true)
        let condition = "'a' in topics || 'b' in topics"
        let claim = Self.pairs([
            "job": Self.text("j"), "batch": Self.text("r1"), "epoch": Self.text("9"), "pass": Self.text("retry"),
            "watermark": Self.text("128"), "deliveries": Self.text("1"), "later": .null,
            "recipients": .array([Self.text("4"), Self.text(history.packed(with: condition))]),
            "quarantined": Self.text("1"),
        ])
        guard case .reply(let parsed)? = ClaimReply.parse(Self.reply(claim)) else {
            Issue.record("not parsed")
            return
        }
        let recipient = try #require(parsed.claims.first?.recipients.first)
        #expect(parsed.news == [.end(job: "k", status: "cancelled")])
        #expect(parsed.newsCursor == "7-1")
        #expect(parsed.refusedCursor == "8-1")
        #expect(parsed.projectClockOffsetMs == -9)
        #expect(parsed.claims.first?.isQuarantined == true)
        #expect(recipient == ClaimedRecipient(index: 4, value: condition, history: history))
    }

    @Test(arguments: [
        RedisValue.null, .integer(1), .array([]), .array([.bulk(Array("ok".utf8))]),
        .array([.bulk(Array("what".utf8)), .null]), .array([.null]), .bulk(Array("ok".utf8)),
    ])
    func malformedRepliesAreNil(value: RedisValue) {
        #expect(ClaimReply.parse(value) == nil)
        #expect(IntakeReply(value) == nil)
        #expect(StreamEntry(value) == nil)
        #expect(JobSpec(value) == nil)
    }

    @Test func aRejectedEntryKeepsNamesThatAreNotUTF8() throws {
        let names: [[UInt8]] = [Array("id".utf8), [0xFF, 0xFE], Array("ü".utf8), [0xC3]]
        let value = RedisValue.array([
            .bulk(Array("1-0".utf8)), .array(names.flatMap { [.bulk($0), .bulk([0x00, 0xFF])] }),
        ])
        let entry = try #require(StreamEntry(value))
        #expect(entry.fields.map(\.name) == ["id", "\u{FFFD}\u{FFFD}", "ü", "\u{FFFD}"])
        #expect(entry.undecodedNames == [1: [0xFF, 0xFE], 3: [0xC3]])
        let command = FunctionLibrary.reject(
            ProjectKeys(prefix: "fanfare", project: "demo"),
            entryID: entry.id,
            job: "j",
            reason: "r",
            keepMs: 1,
            fields: entry.fields,
            undecodedNames: entry.undecodedNames
        )
        let words = (0..<command.count).map { Array(command.word($0)) }
        #expect(words.suffix(8) == names.flatMap { [$0, [0x00, 0xFF]] }[...])
    }

    @Test func specSurvivesARoundTrip() throws {
        let job = Job(
            id: "j",
            hasOwnID: true,
            entryID: "1-1",
            target: .topic("news"),
            message: Array(#"{"data":{"k":"é"}}"#.utf8),
            format: .legacy,
            priority: 7,
            notBefore: 5,
            expiresAt: 99,
            validateOnly: true,
            results: .failures,
            delivery: .atMostOnce,
            traceparent: "00-x",
            audienceSize: 1_000
        )
        let (turn, flat) = try pairs(job)
        #expect(turn == "aimed")
        let audience = ["hold_ms", "2000", "audience_source", "job", "audience_estimate", "1000"]
        #expect(flat.suffix(6) == audience.map { RedisValue.bulk(Array($0.utf8)) }[...])
        #expect(try spec(flat, total: 1) == JobSpec(job: job, total: 1))
    }

    static let operations: [(Job, recipients: [String])] = [
        (
            Job(
                id: "j",
                hasOwnID: false,
                entryID: "1-1",
                operation: .unsubscribe,
                target: .tokens(["a", "b"]),
                subscription: "news",
                message: []
            ), ["a", "b"]
        ),
        (
            Job(
                id: "j",
                hasOwnID: false,
                entryID: "1-1",
                operation: .groupCreate,
                target: .group(""),
                groupName: "é n",
                members: ["a", "b"],
                message: []
            ), ["é n"]
        ),
        (
            Job(
                id: "j",
                hasOwnID: false,
                entryID: "1-1",
                operation: .groupRemove,
                target: .group("K"),
                groupName: "n",
                members: ["c"],
                message: []
            ), ["K"]
        ),
        (
            Job(
                id: "j",
                hasOwnID: false,
                entryID: "1-1",
                operation: .groupGet,
                target: .group(""),
                groupName: "n",
                message: []
            ), ["n"]
        ),
    ]

    @Test(arguments: operations.indices) func managementSpecSurvivesARoundTrip(_ row: Int) throws {
        let (job, recipients) = Self.operations[row]
        #expect(IntakeCall.recipients(of: job) == RecipientList(recipients))
        let (turn, flat) = try pairs(job)
        #expect(turn == "managed")
        let total = recipients.count
        let read = try spec(flat, total: total)
        #expect(read == JobSpec(job: job, total: total))
        #expect(read.operation == job.operation)
        #expect(read.subscription == job.subscription)
        #expect(read.groupName == job.groupName)
        #expect(read.members == job.members)
        #expect(Target.group(read.groupKey) == (job.operation.isGroupOperation ? job.target : .group("")))
        // What a later version may write is not taken for a message.
        let changed = flat.map { $0.string == job.operation.rawValue ? RedisValue.bulk(Array("what".utf8)) : $0 }
        #expect(JobSpec(.array(changed + [.bulk(Array("total".utf8)), .bulk(Array("1".utf8))])) == nil)
    }

    /// Whether the recipients are copied into their command or made when they are sent: the words are the same.
    @Test(arguments: [1, 999, 1_000, 1_001, 2_001])
    func recipientsAreSplitIntoBatchesOfAThousand(count: Int) throws {
        for length in [4, 200] {
            let names = (0..<count).map { String(repeating: "t", count: length) + String($0) }
            // Every hundredth is written with an escape, and so is no part of the entry's text.
            let listed = names.enumerated().map { number, name in
                number % 100 == 99 ? "\\u0074" + name.dropFirst() : name
            }
            let field = "[" + listed.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
            var recipients = RecipientList(within: Array(field.utf8))
            var at = 1
            for (name, text) in zip(names, listed) {
                let place = at + 1..<at + 1 + text.utf8.count
                if name == text { recipients.append(place) } else { recipients.append(name) }
                at += text.utf8.count + 4
            }
            let job = Job(
                id: "j",
                hasOwnID: true,
                entryID: "1-0",
                target: .tokens(recipients),
                message: Array("{}".utf8)
            )
            let command = command(handingOver: job)
            let batches = stride(from: 0, to: count, by: 1_000).map { start in
                names[start..<min(start + 1_000, count)].joined(separator: "\n")
            }
            let words = (command.count - batches.count..<command.count).map {
                String(decoding: command.word($0), as: UTF8.self)
            }
            #expect(words == batches)
            #expect(command.shared.isEmpty == (recipients.byteCount < RedisCommand.large))
            let claim = Claim(job: "j", epoch: "1", watermark: 1, taken: recipients)
            #expect(claim.recipients.map(\.value) == names)
        }
    }

    private func command(handingOver job: Job) -> RedisCommand {
        let call = IntakeCall(
            job: job,
            dedupeMs: 1,
            keepMs: 2,
            taker: nil,
            window: 3,
            quotaPerMinute: 60,
            fanoutRate: 500
        )
        return call.command(ProjectKeys(project: "p"))
    }

    /// The class that a call names, and the pairs that it holds as the hash will.
    private func pairs(_ job: Job) throws -> (turn: String, flat: [RedisValue]) {
        let command = command(handingOver: job)
        let words = (0..<command.count).map { Array(command.word($0)) }
        let count = try #require(Int(String(decoding: words[20], as: UTF8.self)))
        return (String(decoding: words[16], as: UTF8.self), words[21..<(21 + 2 * count)].map { .bulk($0) })
    }

    private func spec(_ flat: [RedisValue], total: Int) throws -> JobSpec {
        try #require(JobSpec(.array(flat + [.bulk(Array("total".utf8)), .bulk(Array(String(total).utf8))])))
    }
}
