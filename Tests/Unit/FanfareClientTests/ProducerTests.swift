import FanfareJSON
import FanfareModel
import StreamWire
import Synchronization
import Testing

@testable import FanfareClient

/// Answers from a list, and records the commands.
private final class ScriptedRedis: RedisSending {
    private let replies: Mutex<[RedisValue]>
    private let seen = Mutex<[String]>([])

    init(_ replies: [RedisValue]) { self.replies = Mutex(replies) }

    var commands: [String] { seen.withLock { $0 } }

    func reply(to command: RedisCommand) async throws -> RedisValue {
        let words = (0..<command.count).map { String(decoding: command.word($0), as: UTF8.self) }
        seen.withLock { $0.append(words.joined(separator: " ")) }
        return replies.withLock { $0.isEmpty ? .null : $0.removeFirst() }
    }
}

private func bulk(_ text: String) -> RedisValue { .bulk(Array(text.utf8)) }

@Suite struct ProducerTests {
    @Test func pushReturnsTheOwnIDOrTheEntrysID() async throws {
        let redis = ScriptedRedis([bulk("1-0"), bulk("2-0"), .null])
        let producer = FanfareProducer(redis: redis, project: "demo")
        var job = PushJob(target: .topic("t"), message: "{}")
        #expect(try await producer.push(job) == "1-0")
        job.id = "mine"
        #expect(try await producer.push(job) == "mine")
        await #expect(throws: FanfareClientError.self) { try await producer.push(job) }
    }

    @Test func typedMessageIsPushedWithItsIDAndDefaults() async throws {
        let redis = ScriptedRedis([bulk("1-0"), bulk("2-0")])
        let producer = FanfareProducer(redis: redis, project: "demo")
        let message = Message(data: ["a": "1"])
        #expect(try await producer.push(message, to: .topic("t"), id: "mine") == "mine")
        #expect(try await producer.push(message, to: .topic("t")) == "2-0")
        let fields = #"XADD fanfare:{demo}:jobs * topic t message {"data":{"a":"1"}}"#
        #expect(redis.commands == [fields + " id mine", fields])
    }

    @Test func fieldsArePushedAsTheyAre() async throws {
        let redis = ScriptedRedis([bulk("1-0")])
        let producer = FanfareProducer(redis: redis, project: "demo", prefix: "ff")
        #expect(try await producer.add(fields: [("token", Array("t".utf8)), ("x", [])]) == "1-0")
        #expect(redis.commands == ["XADD ff:{demo}:jobs * token t x "])
    }

    @Test func pageOfFeedbackEndsWithTheLastEntryThatWasSeen() async throws {
        func entry(_ id: String, _ fields: [String]) -> RedisValue { .array([bulk(id), .array(fields.map(bulk))]) }
        let redis = ScriptedRedis([
            .array([
                entry("1-0", ["token", "t", "action", "remove", "error", "UNREGISTERED", "job", "j"]),
                entry("2-0", ["written", "by another program"]),
            ]), .array([]),
        ])
        let producer = FanfareProducer(redis: redis, project: "demo")
        let page = try await producer.feedback(limit: 2)
        #expect(page.entries.map(\.recipient) == ["t"] && page.last == "2-0")
        #expect(try await producer.feedback(after: "2-0").last == nil)
        let first = "XRANGE fanfare:{demo}:feedback - + COUNT 2"
        #expect(redis.commands == [first, "XRANGE fanfare:{demo}:feedback (2-0 + COUNT 1000"])
    }

    @Test func statusIsReadFromTheHash() async throws {
        let hash = ["state", "retrying", "total", "10", "sent", "6", "failed", "1", "retrying", "3", "created_ms", "5"]
        let redis = ScriptedRedis([.array(hash.map(bulk)), .array([])])
        let producer = FanfareProducer(redis: redis, project: "demo", prefix: "ff")
        let status = try #require(try await producer.status(of: "j"))
        #expect(redis.commands == ["HGETALL ff:{demo}:job:j"])
        #expect(status.state == .retrying)
        #expect(status.total == 10)
        #expect(status.finished == 7)
        #expect(status.retrying == 3)
        #expect(status.createdMs == 5)
        #expect(status.finishedMs == nil)
        #expect(!status.isOver)
        #expect(try await producer.status(of: "other") == nil)
    }

    @Test(arguments: [
        ("done", "3", true, true), ("done", "2", true, false), ("expired", "3", true, false),
        ("rejected", "0", true, false), ("parked", "0", false, false), ("something-new", "3", false, false),
    ])
    func successNeedsStateDoneAndEveryRecipientSent(state: String, sent: String, isOver: Bool, isSuccess: Bool) throws {
        let status = try #require(
            JobStatus(id: "j", reply: .array(["state", state, "total", "3", "sent", sent].map(bulk)))
        )
        #expect(status.isOver == isOver)
        #expect(status.isSuccess == isSuccess)
    }

    private func entry(_ id: String, job: String, _ results: String) -> RedisValue {
        .array([bulk(id), .array(["job", job, "results", results].map(bulk))])
    }

    private func status(finished: Bool = true) throws -> JobStatus {
        var hash = ["state", finished ? "done" : "active", "created_ms", "1000"]
        if finished { hash += ["finished_ms", "2000"] }
        return try #require(JobStatus(id: "j", reply: .array(hash.map(bulk))))
    }

    @Test func resultsSkipOtherJobs() async throws {
        let redis = ScriptedRedis([
            .array([
                entry("1000-0", job: "j", #"[{"i":1,"token":"a","status":"sent","message_id":"m","attempts":2}]"#),
                entry("1001-0", job: "k", #"[{"i":0,"token":"b","status":"sent"}]"#),
            ])
        ])
        var found: [JobResult] = []
        try await FanfareProducer(redis: redis, project: "demo").results(of: status()) { found += $0.results }
        #expect(redis.commands == ["XRANGE fanfare:{demo}:results 1000 7000 COUNT 100"])
        #expect(found.map(\.recipient) == ["a"])
        #expect(found.first?.index == 1)
        #expect(found.first?.status == .sent)
        #expect(found.first?.attempts == 2)
    }

    @Test func resultsReadAllPages() async throws {
        let page = (0..<100).map { entry("1000-\($0)", job: "j", #"[{"i":0,"topic":"t","status":"sent"}]"#) }
        let redis = ScriptedRedis([.array(page), .array([entry("1001-0", job: "j", "[]")])])
        var entries = 0
        try await FanfareProducer(redis: redis, project: "demo").results(of: status(finished: false)) { _ in
            entries += 1
        }
        #expect(entries == 101)
        #expect(
            redis.commands == [
                "XRANGE fanfare:{demo}:results 1000 + COUNT 100",
                "XRANGE fanfare:{demo}:results (1000-99 + COUNT 100",
            ]
        )
    }

    @Test func failedResultKeepsAllFields() throws {
        let json = #"""
            {"i":3,"group":"g","status":"failed","error":"UNREGISTERED","raw_error":"NotRegistered","http_status":404,
            "action":"remove","maybe_dup":true,"canonical":"c","failed_tokens":["x","y"],"later":1}
            """#
        let result = try #require(JobResult(try JSONParser.parse(Array(json.utf8), limits: JSONLimits())))
        #expect(result.kind == .group)
        #expect(result.status == .failed)
        #expect(result.error == "UNREGISTERED")
        #expect(result.rawError == "NotRegistered")
        #expect(result.httpStatus == 404)
        #expect(result.action == "remove")
        #expect(result.mayBeDuplicate)
        #expect(result.canonical == "c")
        #expect(result.failedTokens == ["x", "y"])
        #expect(result.json["later"] != nil)
    }

    @Test func listingHasItsTopics() throws {
        let json = #"{"i":0,"token":"t","status":"sent","message_id":"","attempts":1,"topics":["a","b"]}"#
        let result = try #require(JobResult(try JSONParser.parse(Array(json.utf8), limits: JSONLimits())))
        #expect(result.topics == ["a", "b"])
    }

    @Test func groupResultHasAKeyOnlyOnSuccess() throws {
        func read(_ json: String) throws -> JobResult {
            try #require(JobResult(try JSONParser.parse(Array(json.utf8), limits: JSONLimits())))
        }
        let made = try read(#"{"i":0,"group":"K","status":"sent","group_name":"n","attempts":1}"#)
        #expect(made.kind == .group && made.group == "K" && made.groupName == "n")
        let failed = try read(
            #"{"i":0,"group":"n","status":"failed","group_name":"n","error":"INVALID_ARGUMENT","raw_error":"no"}"#
        )
        #expect(failed.group == nil && failed.groupName == "n" && failed.rawError == "no")
        #expect(try read(#"{"i":0,"group":"K","status":"sent"}"#).group == nil)
    }

    @Test func resultEntryHasTheTraceContextOfItsJob() throws {
        func read(_ fields: [String]) throws -> ResultEntry {
            try ResultEntry(try #require(StreamEntry(.array([bulk("1-0"), .array(fields.map(bulk))]))))
        }
        let traced = try read(["job", "j", "results", "[]", "traceparent", "00-x", "tracestate", "v=1"])
        #expect(traced.traceparent == "00-x" && traced.tracestate == "v=1")
        let plain = try read(["job", "j", "results", "[]"])
        #expect(plain.traceparent == nil && plain.tracestate == nil)
    }

    @Test(arguments: ["{}", "[", "[{\"i\":\"x\"}]", "[{\"i\":0,\"status\":\"sent\"}]", "[1]"])
    func unreadableResultsDoNotTrap(results: String) {
        let value = RedisValue.array([bulk("1-0"), .array(["job", "j", "results", results].map(bulk))])
        let entry = StreamEntry(value).flatMap { try? ResultEntry($0) }
        #expect(entry?.results.isEmpty ?? true)
    }
}
