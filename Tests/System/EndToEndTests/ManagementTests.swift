import FanfareModel
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let hello = #"{"notification":{"title":"Hello","body":"World"}}"#

/// Jobs that change topics and device groups, and jobs that send to them.
@Suite struct ManagementTests {
    @Test(arguments: ["iid", "v1"], HTTPEngine.allCases)
    func topicIsSubscribedSentToAndUnsubscribed(api: String, engine: HTTPEngine) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(
                try rig.configuration(
                    project: "topic_api: \(api)\n    iid_endpoint: https://localhost:\(rig.tlsPort)",
                    extra: "http_engine: \(engine.rawValue)"
                )
            )
            let count = api == "iid" ? 2_500 : 300
            var tokens = (0..<count).map { "device-\($0)" }
            tokens[7] = "sbx-unregistered-7"
            tokens[8] = "sbx-invalid-8"
            try await rig.push([
                "id": "subscribe", "op": "subscribe", "topic": "/topics/news", "tokens": Rig.tokens(tokens),
                "results": "all",
            ])
            let job = try await rig.finished("subscribe")
            #expect(job["sent"] == "\(count - 2)" && job["failed"] == "2", "\(job)")
            let results = try await rig.results("subscribe").sorted { $0.i < $1.i }
            #expect(results.map(\.token) == tokens)
            #expect(results[7].error == "UNREGISTERED" && results[7].action == "remove")
            #expect(results[8].error == "INVALID_ARGUMENT")
            #expect(results.allSatisfy { $0.maybe_dup != true })
            let feedback = try await rig.entries("feedback")
            #expect(Set(feedback.compactMap { $0["token"] }) == ["sbx-unregistered-7", "sbx-invalid-8"])

            try await rig.push(["id": "send", "message": hello, "topic": "news", "audience_size": "100"])
            try await rig.finished("send")
            let last = "device-\(count - 1)"
            try await Wait.until("the topic to reach \(last)") { try await rig.deliveries(last).count == 1 }

            try await rig.push([
                "id": "leave", "op": "unsubscribe", "topic": "news", "tokens": Rig.tokens([last, "x"]),
            ])
            let left = try await rig.finished("leave")
            #expect(left["sent"] == "2", "unsubscribing a device that is not subscribed succeeds: \(left)")
            try await rig.push(["id": "again", "message": hello, "topic": "news"])
            try await rig.finished("again")
            try await Wait.until("the topic to reach device-0") { try await rig.deliveries("device-0").count == 2 }
            #expect(try await rig.deliveries(last).count == 1)
        }
    }

    /// 250 topics are three pages.
    @Test(arguments: HTTPEngine.allCases) func topicsOfATokenAreListed(engine: HTTPEngine) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let settings = "topic_api: v1\n    http_engine: \(engine.rawValue)"
            let configuration = try rig.configuration(project: settings)
            try await rig.startWorker(configuration)
            let topics = (0..<250).map { "topic-\($0)" }.sorted()
            for topic in topics {
                try await rig.push(["id": topic, "op": "subscribe", "topic": topic, "tokens": Rig.tokens(["many"])])
            }
            for topic in topics { try await rig.finished(topic) }
            let tokens = ["many", "sbx-unregistered-a", "none", "sbx-lost-1-many"]
            try await rig.push(["id": "list", "op": "topic.list", "tokens": Rig.tokens(tokens)])
            let job = try await rig.finished("list")
            #expect(job["sent"] == "3" && job["failed"] == "1", "\(job)")
            let results = try await rig.results("list").sorted { $0.i < $1.i }
            #expect(results[0].topics == topics && results[0].attempts == 1)
            #expect(results[1].error == "UNREGISTERED" && results[1].topics == nil)
            #expect(results[2].topics == [] && results[3].topics == [])
            #expect(results.allSatisfy { $0.maybe_dup != true })

            let printed = try await rig.fanfare(configuration, ["topic", "ls", "--token", "many"])
            #expect(printed.split(separator: "\n").map(String.init) == topics)
            let json = try await rig.fanfare(
                configuration,
                ["topic", "ls", "--token", "none", "--token", "x", "--json"]
            )
            #expect(json.split(separator: "\n").filter { $0.hasSuffix(#""topics":[]}"#) }.count == 2, "\(json)")
        }
    }

    @Test func topicListIsRejectedWithTheRemedyOverInstanceID() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            try await rig.push(["id": "list", "op": "topic.list", "tokens": Rig.tokens(["a"])])
            let job = try await rig.finished("list")
            #expect(job["state"] == "rejected")
            let reason =
                "op: topic.list needs topic_api: v1; set it in the project's configuration, this project's is iid"
            #expect(job["reason"] == reason)
            let refused = try ChildProcess(["topic", "ls", "--token", "a", "-c", configuration, "--project", "demo"])
            #expect(try await refused.wait(seconds: 30) == 64)
            #expect(refused.stderr.contains(reason), "\(refused.stderr)")
        }
    }

    @Test(arguments: HTTPEngine.allCases) func groupIsCreatedReadChangedAndEmptied(engine: HTTPEngine) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let settings = "sender_id: \"\(try rig.senderID)\"\n    http_engine: \(engine.rawValue)"
            try await rig.startWorker(try rig.configuration(project: settings))
            func run(_ fields: [String: String]) async throws -> Rig.Recipient {
                let id = try await rig.push(fields)
                try await rig.finished(id)
                return try #require(try await rig.results(id).first)
            }
            let made = try await run(["op": "group.create", "group_name": "tom", "tokens": Rig.tokens(["a", "b"])])
            #expect(made.status == "sent" && made.group_name == "tom")
            let key = try #require(made.group)
            let second = try await run(["op": "group.create", "group_name": "tom", "tokens": Rig.tokens(["c"])])
            #expect(second.status == "failed" && second.error == "INVALID_ARGUMENT")
            #expect(second.raw_error == "notification_key already exists")
            #expect(second.group_name == "tom" && second.group == "")
            let read = try await run(["op": "group.get", "group_name": "tom"])
            #expect(read.status == "sent" && read.group?.isEmpty == false)
            let added = try await run([
                "op": "group.add", "group_name": "tom", "group": key, "tokens": Rig.tokens(["c"]),
            ])
            #expect(added.status == "sent")
            let send = try await run(["message": hello, "group": read.group ?? ""])
            #expect(send.status == "sent")
            for member in ["a", "b", "c"] {
                try await Wait.until("a delivery to \(member)") { try await rig.deliveries(member).count == 1 }
            }
            let removed = try await run([
                "op": "group.remove", "group_name": "tom", "group": added.group ?? "",
                "tokens": Rig.tokens(["a", "b", "c"]),
            ])
            #expect(removed.status == "sent")
            let gone = try await run(["op": "group.get", "group_name": "tom"])
            #expect(gone.status == "failed" && gone.raw_error == "notification_key not found")
        }
    }

    /// FCM carries out the operation and its answer is lost. FCM refuses the next attempt because of the first one.
    @Test func lostAnswerIsNotReportedAsAFailure() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(
                try rig.configuration(requestTimeoutMs: 3_000, project: "sender_id: \"\(try rig.senderID)\"")
            )
            func run(_ fields: [String: String], isLost: Bool = false) async throws -> Rig.Recipient {
                if isLost {
                    _ = try await rig.addFault(
                        """
                        {"match":{"path":"/fcm/notification"},"action":{"delay_ms":6000},"times":1}
                        """
                    )
                }
                let id = try await rig.push(fields)
                try await rig.finished(id)
                return try #require(try await rig.results(id).first)
            }
            let create = ["op": "group.create", "group_name": "tom", "tokens": Rig.tokens(["a", "b"])]
            let made = try await run(create, isLost: true)
            #expect(made.status == "unknown" && made.attempts == 2, "\(made)")
            #expect(made.group_name == "tom" && made.group == "" && made.maybe_dup != true)
            let second = try await run(create)
            #expect(second.status == "failed", "without an ambiguous attempt the group is another sender's")
            let read = try await run(["op": "group.get", "group_name": "tom"])
            let key = try #require(read.group)
            let remove = ["op": "group.remove", "group_name": "tom", "group": key, "tokens": Rig.tokens(["a", "b"])]
            let removed = try await run(remove, isLost: true)
            #expect(removed.status == "sent" && removed.attempts == 2, "\(removed)")
            #expect(removed.group_name == "tom" && removed.group == key && removed.maybe_dup != true)
            let gone = try await run(remove)
            #expect(gone.status == "failed" && gone.raw_error == "notification_key not found")
        }
    }

    /// FCM names the members that it did not reach, without a reason. Fanfare sends to each of them, and the group's
    /// result lists the members that failed.
    @Test(arguments: ["legacy", "xmpp"])
    func unreachedGroupMembersAreSentToOneByOne(transport: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(
                transport: transport,
                project: transport == "xmpp" ? try rig.xmppSettings : "sender_id: \"\(try rig.senderID)\""
            )
            try await rig.startWorker(configuration)
            let members = ["well", "sbx-unregistered-gone", "sbx-unavailable-1-busy"]
            try await rig.push([
                "id": "make", "op": "group.create", "group_name": "g", "tokens": Rig.tokens(["well", "x", "y"]),
            ])
            try await rig.finished("make")
            let key = try #require(try await rig.results("make").first?.group)
            _ = try await rig.control(
                "POST",
                "/devices",
                #"{"group":"trio","members":\#(Rig.tokens(members))}"#
            )
            try await rig.push(["id": "send", "message": hello, "group": "trio"])
            try await rig.finished("send")
            let result = try #require(try await rig.results("send").first)
            #expect(result.status == "sent" && result.group == "trio")
            #expect(result.failed_tokens == ["sbx-unregistered-gone"])
            #expect(result.attempts == 2)
            #expect(try await rig.deliveries("well").count == 1, "a reached member is not sent to again")
            #expect(try await rig.deliveries("sbx-unavailable-1-busy").count == 1)
            let feedback = try await rig.entries("feedback")
            #expect(feedback.map { $0["token"] } == ["sbx-unregistered-gone"])

            try await rig.push(["id": "whole", "message": hello, "group": key])
            try await rig.finished("whole")
            let whole = try #require(try await rig.results("whole").first)
            #expect(whole.status == "sent" && whole.failed_tokens == nil && whole.attempts == 1)
        }
    }

    /// FCM reached no member. Fanfare sends to each member instead of retrying the group for an hour: registered
    /// members are reached, unregistered ones are listed.
    @Test(arguments: ["legacy", "xmpp"])
    func groupWithNoReachedMemberIsSentToOneByOne(transport: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let settings = transport == "xmpp" ? try rig.xmppSettings : "sender_id: \"\(try rig.senderID)\""
            try await rig.startWorker(try rig.configuration(transport: transport, project: settings))
            func group(_ key: String, _ members: [String]) async throws {
                let body = #"{"group":"\#(key)","members":\#(Rig.tokens(members)),"names_all":true}"#
                _ = try await rig.control("POST", "/devices", body)
                try await rig.push(["id": key, "message": hello, "group": key])
            }
            try await group("half", ["sbx-unregistered-a", "sbx-unavailable-1-b"])
            try await group("dead", ["sbx-unregistered-c", "sbx-unregistered-d"])
            for key in ["half", "dead"] { try await rig.finished(key) }

            let half = try #require(try await rig.results("half").first)
            #expect(half.status == "sent" && half.group == "half" && half.attempts == 2)
            #expect(half.failed_tokens == ["sbx-unregistered-a"])
            #expect(try await rig.deliveries("sbx-unavailable-1-b").count == 1)

            let dead = try #require(try await rig.results("dead").first)
            #expect(dead.status == "failed" && dead.error == "EMPTY_GROUP" && dead.attempts == 2)
            #expect(dead.failed_tokens?.sorted() == ["sbx-unregistered-c", "sbx-unregistered-d"])
            let feedback = Set(try await rig.entries("feedback").compactMap { $0["token"] })
            #expect(feedback == ["sbx-unregistered-a", "sbx-unregistered-c", "sbx-unregistered-d"])
        }
    }

    /// A group without members fails, over each transport.
    @Test(arguments: ["legacy", "xmpp"])
    func groupWithoutMembersFails(transport: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let settings = transport == "xmpp" ? try rig.xmppSettings : "sender_id: \"\(try rig.senderID)\""
            try await rig.startWorker(try rig.configuration(transport: transport, project: settings))
            _ = try await rig.control("POST", "/devices", #"{"group":"empty","members":[]}"#)
            try await rig.push(["id": "send", "message": hello, "group": "empty"])
            #expect(try await rig.finished("send")["failed"] == "1")
            let result = try #require(try await rig.results("send").first)
            #expect(result.error == "EMPTY_GROUP" && result.action == "none" && result.failed_tokens == nil)
        }
    }

    /// A rate refusal of one member limits that member in every job, as if it had been sent to directly. It does not
    /// limit the group.
    @Test func refusedRateIsRecordedForTheMemberNotTheGroup() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(
                try rig.configuration(transport: "legacy", project: "sender_id: \"\(try rig.senderID)\"")
            )
            let members = Rig.tokens(["well", "sbx-devicerate-2-x"])
            _ = try await rig.control("POST", "/devices", #"{"group":"g","members":\#(members)}"#)
            try await rig.push(["id": "send", "message": hello, "group": "g"])
            var refused: [String] = []
            try await Wait.until("a refused rate") {
                let reply = try await rig.client.send(RedisCommand("HKEYS", "fanfare:{demo}:rates"))
                refused = reply.array?.compactMap(\.string) ?? []
                return !refused.isEmpty
            }
            #expect(refused == ["token:sbx-devicerate-2-x"])
        }
    }

    /// Sends to the members of a group wait for permits without blocking other jobs.
    @Test func memberSendsAtALowQuotaDoNotBlockOtherJobs() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(
                try rig.configuration(
                    transport: "legacy",
                    quotaPerMinute: 600,
                    project: "sender_id: \"\(try rig.senderID)\""
                )
            )
            let busy = (0..<12).map { "sbx-unavailable-1-\($0)" }
            _ = try await rig.control("POST", "/devices", #"{"group":"g","members":\#(Rig.tokens(["well"] + busy))}"#)
            try await rig.push(["id": "send", "message": hello, "group": "g"])
            try await Wait.until("the first send to a member") {
                let sends = try await rig.stats().sends
                let state = try await rig.job("send")["state"]
                return state == "retrying" && sends > 1
            }
            try await rig.push(["id": "beside", "message": hello, "token": "t"])
            try await rig.finished("beside", seconds: 10)
            try await rig.finished("send")
            let result = try #require(try await rig.results("send").first)
            #expect(result.status == "sent" && result.failed_tokens == nil)
            for token in busy { #expect(try await rig.deliveries(token).count == 1) }
        }
    }

    @Test func topicAndGroupCommandsReachFCM() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(
                project:
                    "sender_id: \"\(try rig.senderID)\"\n    iid_endpoint: https://localhost:\(rig.tlsPort)"
            )
            try await rig.startWorker(configuration)
            let made = try await rig.fanfare(
                configuration,
                ["group", "create", "--name", "g", "--token", "a", "--token", "b", "--wait"]
            )
            let key = made.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(!key.isEmpty && !key.contains(" "), "standard output is only the key")
            try await rig.fanfare(
                configuration,
                ["group", "add", "--name", "g", "--group", key, "--token", "c", "--wait"]
            )
            // A 200 whose body is cut: the group exists, but the command must fail rather than print an empty key.
            _ = try await rig.addFault(
                #"{"match":{"path":"/fcm/notification"},"action":{"truncate":5},"times":1}"#
            )
            let cut = try ChildProcess(
                ["group", "create", "--name", "h", "--token", "a", "--wait", "-c", configuration, "--project", "demo"]
            )
            #expect(try await cut.wait(seconds: 30) == 1)
            #expect(cut.stdout.isEmpty && cut.stderr.contains("fanfare group get --name h"), "\(cut.stderr)")
            try await rig.fanfare(
                configuration,
                ["topic", "subscribe", "--topic", "news", "--token", "a", "--wait"]
            )
            try await rig.fanfare(
                configuration,
                ["send", "--topic", "news", "--title", "Hi", "--body", "there", "--wait"]
            )
            try await Wait.until("a delivery to a") { try await rig.deliveries("a").count == 1 }
        }
    }
}
