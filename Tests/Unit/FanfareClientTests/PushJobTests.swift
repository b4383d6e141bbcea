import FanfareJSON
import FanfareModel
import StreamWire
import Testing

@testable import FanfareClient

@Suite struct PushJobTests {
    private func fields(_ job: PushJob) -> [String: String] {
        Dictionary(uniqueKeysWithValues: job.fields.map { ($0.name, String(decoding: $0.value, as: UTF8.self)) })
    }

    @Test func plainJobHasOnlyTargetAndMessage() {
        let job = PushJob(target: .tokens(["a"]), message: "{}")
        #expect(fields(job) == ["token": "a", "message": "{}"])
    }

    struct Row: Sendable {
        var target: Target
        var name: String
        var value: String
    }

    @Test(arguments: [
        Row(target: .tokens(["a:1"]), name: "token", value: "a:1"),
        Row(target: .tokens(["a", "b"]), name: "tokens", value: "[\"a\",\"b\"]"),
        Row(target: .tokens([]), name: "tokens", value: "[]"),
        Row(target: .tokens(["a\"b", "\u{1}"]), name: "tokens", value: "[\"a\\\"b\",\"\\u0001\"]"),
        Row(target: .fids(["f"]), name: "fid", value: "f"),
        Row(target: .fids(["f", "g"]), name: "fids", value: "[\"f\",\"g\"]"),
        Row(target: .topic("news"), name: "topic", value: "news"),
        Row(target: .condition("'a' in topics"), name: "condition", value: "'a' in topics"),
        Row(target: .group("key"), name: "group", value: "key"),
        Row(target: .audience(key: "audience:{p}:1"), name: "audience", value: "audience:{p}:1"),
    ])
    func eachTargetHasItsField(row: Row) {
        let fields = fields(PushJob(target: row.target, message: "{}"))
        #expect(fields == [row.name: row.value, "message": "{}"])
    }

    @Test func singleRecipientWithAGuardOfListsIsAList() {
        var job = PushJob(target: .tokens(["a"]), message: "{}")
        job.guards.sendWindow = "09:00-21:00 UTC"
        #expect(fields(job)["token"] == "a")
        job.guards.canary = "1%"
        #expect(fields(job)["tokens"] == #"["a"]"# && fields(job)["token"] == nil)
        job.target = .fids(["f"])
        #expect(fields(job)["fids"] == #"["f"]"#)
    }

    @Test func everyFieldHasTheNameOfTheContract() {
        var job = PushJob(target: .topic("t"), message: "{}")
        job.format = .legacy
        job.id = "mine"
        job.priority = 9
        job.notBefore = 1
        job.expiresAt = 2
        job.validateOnly = true
        job.results = .failures
        job.delivery = .atMostOnce
        job.audienceSize = 500_000
        job.traceparent = "00-x"
        job.tracestate = "v=1"
        #expect(
            fields(job) == [
                "topic": "t", "message": "{}", "format": "legacy", "id": "mine", "priority": "9", "not_before": "1",
                "expires_at": "2", "validate_only": "1", "results": "failures", "delivery": "at_most_once",
                "audience_size": "500000", "traceparent": "00-x", "tracestate": "v=1",
            ]
        )
    }

    @Test(
        arguments: [
            (1_790_000_000, "; seconds? multiply by 1000"), (1_790_000_000_000_000, "; microseconds? divide by 1000"),
            (-1, ""), (0, ""), (99_999_999_999, "; seconds? multiply by 1000"),
            (100_000_000_000_000, "; microseconds? divide by 1000"),
        ] as [(Int64, String)]
    )
    func timeInAnotherUnitIsNotPushed(time: Int64, advice: String) async throws {
        for (name, field) in [("not_before", \PushJob.notBefore), ("expires_at", \.expiresAt)] {
            var job = PushJob(target: .topic("t"), message: "{}")
            job[keyPath: field] = time
            let reason = "\(name): \(time) is not 100000000000 to 99999999999999\(advice)"
            await #expect(throws: FanfareClientError(.badArgument, reason)) {
                _ = try await FanfareProducer(redis: NoRedis(), project: "p").push(job)
            }
        }
    }

    @Test func timesInMillisecondsArePushed() async throws {
        for time in [100_000_000_000, 1_790_000_000_000, 99_999_999_999_999] as [Int64] {
            var job = PushJob(target: .topic("t"), message: "{}")
            (job.notBefore, job.expiresAt) = (time, time)
            #expect(try await FanfareProducer(redis: NoRedis(), project: "p").push(job) == "1-1")
        }
    }

    /// Answers each command with the id of an entry.
    private struct NoRedis: RedisSending {
        func reply(to command: RedisCommand) async throws -> RedisValue { .bulk(Array("1-1".utf8)) }
    }

    static let operations: [(PushJob, fields: [String: String])] = [
        (.subscribe(["a"], to: "news"), ["op": "subscribe", "topic": "news", "tokens": #"["a"]"#]),
        (
            .unsubscribe(["a", "b"], from: "/topics/n"),
            ["op": "unsubscribe", "topic": "/topics/n", "tokens": #"["a","b"]"#]
        ),
        (.topics(of: ["a", "b"]), ["op": "topic.list", "tokens": #"["a","b"]"#]),
        (.createGroup("é", members: ["a"]), ["op": "group.create", "group_name": "é", "tokens": #"["a"]"#]),
        (
            .add(["a"], toGroup: "n", key: "K"),
            ["op": "group.add", "group_name": "n", "group": "K", "tokens": #"["a"]"#]
        ),
        (
            .remove(["a", "b"], fromGroup: "n", key: "K"),
            ["op": "group.remove", "group_name": "n", "group": "K", "tokens": #"["a","b"]"#]
        ),
        (.getGroup("n"), ["op": "group.get", "group_name": "n"]),
    ]

    @Test(arguments: operations.indices) func operationHasItsFieldsAndNoMessage(row: Int) {
        var (job, expected) = Self.operations[row]
        #expect(fields(job) == expected)
        job.id = "mine"
        job.priority = 1
        job.results = .all
        expected.merge(["id": "mine", "priority": "1", "results": "all"]) { $1 }
        #expect(fields(job) == expected)
        #expect(job.operation != .send)
    }

    @Test func commandIsAnXADDToTheProjectsStream() {
        let command = PushJob(target: .tokens(["a"]), message: "{}").command(project: "demo", prefix: "ff")
        let words = (0..<command.count).map { String(decoding: command.word($0), as: UTF8.self) }
        #expect(words == ["XADD", "ff:{demo}:jobs", "*", "token", "a", "message", "{}"])
    }
}
