import FanfareCore
import FanfareModel
import Testing

/// Operations besides `send`: what each takes, and what it refuses.
@Suite struct ValidationOperationTests {
    private static let twentyOne = "[" + (0..<21).map { "\"t\($0)\"" }.joined(separator: ",") + "]"

    static let missing: [BadEntry] = [
        BadEntry(["op": "subscribe", "topic": "t"], "tokens: required with subscribe"),
        BadEntry(["op": "unsubscribe", "tokens": #"["a"]"#], "topic: required with unsubscribe"),
        BadEntry(["op": "topic.list"], "tokens: required with topic.list"),
        BadEntry(["op": "group.create", "tokens": #"["a"]"#], "group_name: required with group.create"),
        BadEntry(["op": "group.create", "group_name": "n"], "tokens: required with group.create"),
        BadEntry(["op": "group.add", "group_name": "n", "tokens": #"["a"]"#], "group: required with group.add"),
        BadEntry(["op": "group.add", "group": "k", "tokens": #"["a"]"#], "group_name: required with group.add"),
        BadEntry(["op": "group.remove", "group_name": "n", "group": "k"], "tokens: required with group.remove"),
        BadEntry(["op": "group.get"], "group_name: required with group.get"),
    ]

    static let excess: [BadEntry] =
        [
            ("message", "{}"), ("format", "v1"), ("token", "a"), ("fid", "a"), ("fids", #"["a"]"#),
            ("condition", "'a' in topics"), ("group", "k"), ("audience", "{demo}"), ("audience_size", "1"),
            ("validate_only", "0"), ("delivery", "replace"), ("group_name", "n"),
        ].map { name, value in
            BadEntry(
                ["op": "subscribe", "topic": "t", "tokens": #"["a"]"#, name: value],
                "\(name): not with subscribe, which takes topic, tokens"
            )
        } + [
            BadEntry(
                ["op": "topic.list", "topic": "t", "tokens": #"["a"]"#],
                "topic: not with topic.list, which takes tokens"
            ),
            BadEntry(
                ["op": "group.create", "group_name": "n", "group": "k", "tokens": #"["a"]"#],
                "group: not with group.create, which takes group_name, tokens"
            ),
            BadEntry(
                ["op": "group.remove", "group_name": "n", "group": "k", "tokens": #"["a"]"#, "topic": "t"],
                "topic: not with group.remove, which takes group_name, group, tokens"
            ),
            BadEntry(
                ["op": "group.get", "group_name": "n", "group": "k"],
                "group: not with group.get, which takes group_name"
            ),
            BadEntry(
                ["op": "group.get", "group_name": "n", "tokens": #"["a"]"#],
                "tokens: not with group.get, which takes group_name"
            ),
        ]

    static let values: [BadEntry] = [
        BadEntry(["op": "Subscribe"], "op: \"Subscribe\" is not an operation"),
        BadEntry(["op": "group"], "op: \"group\" is not an operation"),
        BadEntry(["group_name": "g"], "group_name: only with a group operation"),
        BadEntry(["op": "send", "group_name": "g"], "group_name: only with a group operation"),
        BadEntry(
            ["op": "subscribe", "topic": "a b", "tokens": #"["a"]"#],
            "topic: byte 1 is not one of A-Z a-z 0-9 - _ . ~ %"
        ),
        BadEntry(
            ["op": "unsubscribe", "topic": "t", "tokens": #"["a","b c"]"#],
            "tokens[1]: byte 1 is not one of A-Z a-z 0-9 _ : . -"
        ),
        BadEntry(["op": "subscribe", "topic": "t", "tokens": "[]"], "tokens: empty, at least 1"),
        BadEntry(
            ["op": "subscribe", "topic": "t", "tokens": #"["a"]"#, "priority": "10"],
            "priority: 10 is not 0 to 9"
        ),
        BadEntry(["op": "group.get", "group_name": "n", "id": "a b"], "id: byte 1 is not one of A-Z a-z 0-9 . _ : -"),
        BadEntry(["op": "group.get", "group_name": ""], "group_name: empty"),
        BadEntry(["op": "group.get", "group_name": "a\nb"], "group_name: control character at byte 1"),
        BadEntry(["op": "group.get", "group_name": "a\u{7F}"], "group_name: control character at byte 1"),
        BadEntry(["op": "group.get", "group_name": "ab\u{80}"], "group_name: control character at byte 2"),
        BadEntry(["op": "group.get", "group_name": "é\u{9F}b"], "group_name: control character at byte 2"),
        BadEntry(
            ["op": "group.get", "group_name": String(repeating: "n", count: 1_025)],
            "group_name: 1025 bytes, at most 1024"
        ),
        BadEntry(
            ["op": "group.create", "group_name": "n", "tokens": twentyOne],
            "tokens: 21 tokens, at most 20 for a group"
        ),
        BadEntry(["op": "group.create", "group_name": "n", "tokens": "[]"], "tokens: empty, at least 1"),
        BadEntry(
            ["op": "group.add", "group_name": "n", "group": "k/", "tokens": #"["a"]"#],
            "group: byte 1 is not one of A-Z a-z 0-9 _ : . -"
        ),
    ]

    @Test(arguments: missing + excess + values) func badOperationIsRejectedByFieldName(_ row: BadEntry) {
        #expect(row.decision == .reject(jobID: EntryBuilder.entryID, reason: row.reason))
    }

    @Test(arguments: [Transport.v1, .legacy, .xmpp], LegacyBody.allCases)
    func managementGoesOverHTTPWhateverTheTransport(_ transport: Transport, _ body: LegacyBody) {
        let tokens = #"["a","b"]"#
        for operation in [Operation.subscribe, .unsubscribe] {
            let job = EntryBuilder.job(
                ["op": operation.rawValue, "topic": "/topics/news", "tokens": tokens],
                over: transport,
                as: body
            )
            #expect(
                job
                    == Job(
                        id: EntryBuilder.entryID,
                        hasOwnID: false,
                        entryID: EntryBuilder.entryID,
                        operation: operation,
                        target: .tokens(["a", "b"]),
                        subscription: "news",
                        message: []
                    )
            )
        }
    }

    @Test func topicListTakesTokensOnly() {
        #expect(
            EntryBuilder.job(["op": "topic.list", "tokens": #"["a","b"]"#])
                == Job(
                    id: EntryBuilder.entryID,
                    hasOwnID: false,
                    entryID: EntryBuilder.entryID,
                    operation: .topicList,
                    target: .tokens(["a", "b"]),
                    message: []
                )
        )
    }

    static let groups: [(Operation, KeyValuePairs<String, String?>, key: String, members: [String])] = [
        (.groupCreate, ["op": "group.create", "group_name": "é\u{A0}À n", "tokens": #"["a","b"]"#], "", ["a", "b"]),
        (.groupAdd, ["op": "group.add", "group_name": "é\u{A0}À n", "group": "K", "tokens": #"["c"]"#], "K", ["c"]),
        (
            .groupRemove, ["op": "group.remove", "group_name": "é\u{A0}À n", "group": "K", "tokens": #"["c"]"#], "K",
            ["c"]
        ),
        (.groupGet, ["op": "group.get", "group_name": "é\u{A0}À n"], "", []),
    ]

    @Test(arguments: groups.indices) func groupOperationIsAccepted(_ row: Int) {
        let (operation, fields, key, members) = Self.groups[row]
        #expect(
            EntryBuilder.job(fields)
                == Job(
                    id: EntryBuilder.entryID,
                    hasOwnID: false,
                    entryID: EntryBuilder.entryID,
                    operation: operation,
                    target: .group(key),
                    groupName: "é\u{A0}À n",
                    members: members,
                    message: []
                )
        )
    }

    @Test func generalFieldsBelongToEveryOperation() {
        let job = EntryBuilder.job([
            "op": "group.get", "group_name": "n", "id": "mine", "priority": "9", "not_before": "100000000000",
            "expires_at": "99999999999999",
            "results": "failures", "traceparent": ValidationEntryTests.trace, "tracestate": "a=1",
        ])
        #expect(
            job
                == Job(
                    id: "mine",
                    hasOwnID: true,
                    entryID: EntryBuilder.entryID,
                    operation: .groupGet,
                    target: .group(""),
                    groupName: "n",
                    message: [],
                    priority: 9,
                    notBefore: 100_000_000_000,
                    expiresAt: 99_999_999_999_999,
                    results: .failures,
                    traceparent: ValidationEntryTests.trace,
                    tracestate: "a=1"
                )
        )
    }

    @Test func twentyMembersAndAnySubscriberCountAreAccepted() {
        let tokens = "[" + Array(repeating: "\"a\"", count: 20).joined(separator: ",") + "]"
        #expect(EntryBuilder.job(["op": "group.create", "group_name": "n", "tokens": tokens])?.members.count == 20)
        let many = "[" + Array(repeating: "\"a\"", count: 5_000).joined(separator: ",") + "]"
        let job = EntryBuilder.job(["op": "subscribe", "topic": "t", "tokens": many])
        #expect(job?.target == .tokens(Array(repeating: "a", count: 5_000)))
    }

    /// Requests about groups name the sender; those about topics do not.
    @Test func groupOperationNeedsTheSenderID() {
        let validator = EntryBuilder.validator(hasSenderID: false)
        func decide(_ fields: KeyValuePairs<String, String?>) -> IntakeDecision {
            validator.decide(entryID: "1-1", fields: EntryBuilder.fields(fields))
        }
        #expect(
            decide(["op": "group.get", "group_name": "n"])
                == .reject(jobID: "1-1", reason: "op: group.get needs the project's sender_id, not configured")
        )
        guard case .accept = decide(["op": "subscribe", "topic": "t", "tokens": #"["a"]"#]), case .accept = decide([:])
        else {
            Issue.record("rejected")
            return
        }
    }

    @Test func groupNameMustBeUTF8WithoutControlCharacters() {
        let fields: [(name: String, value: [UInt8])] = [("op", Array("group.get".utf8)), ("group_name", [0x61, 0xFF])]
        #expect(
            EntryBuilder.validator().decide(entryID: "1-1", fields: fields)
                == .reject(jobID: "1-1", reason: "group_name: not UTF-8")
        )
    }
}
