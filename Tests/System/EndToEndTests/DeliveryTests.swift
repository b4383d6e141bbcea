import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let hello = #"{"notification":{"title":"Hello","body":"World"},"data":{"k":"v"}}"#

@Suite struct DeliveryTests {
    @Test func everyRecipientGetsItsResultByIndex() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            let tokens = [
                "healthy-1", "sbx-unregistered-1", "sbx-invalid-1", "sbx-mismatch-1", "sbx-auth-1", "sbx-apple-1",
                "sbx-web-1", "healthy-1", "healthy-2",
            ]
            try await rig.push(["id": "all", "message": hello, "tokens": Rig.tokens(tokens)])
            let job = try await rig.finished("all")
            #expect(job["state"] == "done")
            #expect(job["sent"] == "5" && job["failed"] == "4" && job["retrying"] == "0")
            for field in ["created_ms", "started_ms", "first_pass_ms", "finished_ms"] {
                #expect(Int64(job[field] ?? "") != nil, "\(field)")
            }
            let results = try await rig.results("all").sorted { $0.i < $1.i }
            #expect(results.map(\.i) == Array(0..<9))
            #expect(results.map(\.token) == tokens)
            let verdicts = results.map { "\($0.status) \($0.error ?? "-") \($0.action ?? "-")" }
            #expect(
                verdicts == [
                    "sent - -", "failed UNREGISTERED remove", "failed INVALID_ARGUMENT remove",
                    "failed SENDER_ID_MISMATCH fix_credentials", "failed THIRD_PARTY_AUTH_ERROR fix_credentials",
                    "sent - -", "sent - -", "sent - -", "sent - -",
                ]
            )
            #expect(results.allSatisfy { $0.attempts == 1 && $0.maybe_dup != true })
            #expect(results[0].message_id == results[7].message_id)
            let feedback = try await rig.entries("feedback")
            #expect(
                feedback.map { "\($0["token"] ?? "") \($0["action"] ?? "")" }.sorted() == [
                    "sbx-invalid-1 remove", "sbx-unregistered-1 remove",
                ]
            )
            let stats = try await rig.stats()
            #expect(stats.sends == 8, "a token that occurs twice in a batch is sent once")
            #expect(stats.duplicates == 0)
            #expect(try await rig.privateKeys().isEmpty)
            #expect(try await rig.client.send(RedisCommand("XLEN", "fanfare:{demo}:jobs")).integer == 0)
        }
    }

    @Test(arguments: [
        (["token": "one"], "token"), (["fid": "cAbCdEfGhIjKlMnOpQrStU"], "fid"), (["topic": "/topics/news"], "topic"),
        (["condition": "'a' in topics && 'b' in topics"], "condition"), (["group": "APA91bGroupKey"], "group"),
    ])
    func everyKindOfTargetIsSentOverV1(target: [String: String], kind: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            let id = try await rig.push(target.merging(["message": hello]) { $1 })
            let job = try await rig.finished(id)
            #expect(job["sent"] == "1", "\(job)")
            let result = try #require(try await rig.results(id).first)
            let named = [
                "token": result.token, "fid": result.fid, "topic": result.topic,
                "condition": result.condition, "group": result.group,
            ]
            let expected = kind == "topic" ? "news" : try #require(target[kind])
            #expect(named[kind] == expected)
        }
    }

    @Test func jobPushedAgainIsSentOnce() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            for _ in 0..<3 { try await rig.push(["id": "once", "message": hello, "token": "t"]) }
            try await rig.finished("once")
            try await Wait.until("two duplicates") { try await rig.job("once")["duplicates"] == "2" }
            #expect(try await rig.stats().sends == 1)
        }
    }

    @Test func resultsFieldLimitsTheResultsWritten() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            let tokens = Rig.tokens(["a", "sbx-unregistered-b", "c"])
            try await rig.push(["id": "none", "message": hello, "tokens": tokens, "results": "none"])
            try await rig.push(["id": "failures", "message": hello, "tokens": tokens, "results": "failures"])
            try await rig.finished("none")
            try await rig.finished("failures")
            #expect(try await rig.results("none").isEmpty)
            #expect(try await rig.results("failures").map(\.i) == [1])
            #expect(try await rig.entries("feedback").count == 2, "feedback is written for every value of `results`")
        }
    }

    @Test func fanoutOfManyBatchesIsSentOnceByTwoWorkers() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            try await rig.startWorker(configuration)
            let tokens = (0..<5_432).map { $0 % 10 == 3 ? "sbx-unregistered-\($0)" : "token-\($0)" }
            try await rig.push(["id": "big", "message": hello, "tokens": Rig.tokens(tokens), "results": "all"])
            let job = try await rig.finished("big", seconds: 180)
            #expect(job["sent"] == "4889" && job["failed"] == "543")
            let results = try await rig.results("big")
            #expect(Set(results.map(\.i)) == Set(0..<5_432) && results.count == 5_432)
            #expect(results.allSatisfy { $0.token == tokens[$0.i] })
            let stats = try await rig.stats()
            #expect(stats.sends == 5_432 && stats.duplicates == 0)
            #expect(try await rig.privateKeys().isEmpty)
        }
    }

    @Test func audienceIsReadFromAListOrASet() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            let tokens = (0..<3_210).map { "token-\($0)" } + ["not a token"]
            for (kind, verb) in [("list", "RPUSH"), ("set", "SADD")] {
                for start in stride(from: 0, to: tokens.count, by: 500) {
                    var command = RedisCommand(verb, "audience:{demo}:\(kind)")
                    for token in tokens[start..<min(start + 500, tokens.count)] { command.append(token) }
                    _ = try await rig.client.send(command)
                }
                try await rig.push(["id": kind, "message": hello, "audience": "audience:{demo}:\(kind)"])
            }
            for kind in ["list", "set"] {
                let job = try await rig.finished(kind)
                #expect(job["sent"] == "3210" && job["failed"] == "1", "\(kind): \(job)")
                let failures = try await rig.results(kind)
                #expect(failures.map(\.error) == ["INVALID_ARGUMENT"] && failures.map(\.token) == ["not a token"])
            }
            #expect(try await rig.stats().sends == 6_420)
            #expect(try await rig.privateKeys().isEmpty)
            try await rig.push(["id": "empty", "message": hello, "audience": "audience:{demo}:missing"])
            let job = try await rig.finished("empty")
            #expect(job["state"] == "done" && job["total"] == "0")
            _ = try await rig.client.send(RedisCommand("SET", "audience:{demo}:text", "x"))
            try await rig.push(["id": "text", "message": hello, "audience": "audience:{demo}:text"])
            #expect(try await rig.finished("text")["reason"]?.hasPrefix("audience:") == true)
        }
    }

    @Test func scheduledJobStartsAtItsTime() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            let due = Int64(Date().timeIntervalSince1970 * 1_000) + 1_500
            try await rig.push(["id": "later", "message": hello, "token": "t", "not_before": "\(due)"])
            try await Wait.until("the job to be held") { try await rig.job("later")["state"] == "scheduled" }
            let job = try await rig.finished("later")
            #expect(try #require(Int64(job["started_ms"] ?? "")) >= due)
        }
    }

    @Test func validateOnlyDeliversNothing() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            try await rig.push(["id": "check", "message": hello, "token": "t-check", "validate_only": "1"])
            let job = try await rig.finished("check")
            #expect(job["sent"] == "1")
            let deliveries = try await rig.control("GET", "/deliveries?token=t-check")
            #expect(String(decoding: deliveries, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines).isEmpty)
        }
    }

    /// Producers of legacy jobs depend on this conversion since Google shut down the legacy endpoint.
    @Test func legacyMessageIsDeliveredOverV1() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            let message = """
                {"notification":{"title":"T","body":"B","click_action":"OPEN","badge":"3"},"data":{"n":1,"o":{"a":[true]}},
                 "time_to_live":60,"collapse_key":"c"}
                """
            try await rig.push(["id": "old", "format": "legacy", "message": message, "token": "sbx-apple-1"])
            let job = try await rig.finished("old")
            #expect(job["sent"] == "1", "\(job)")
            let body = try await rig.control("GET", "/deliveries?token=sbx-apple-1")
            let delivery = try #require(try JSONSerialization.jsonObject(with: body) as? [String: Any])
            let headers = try #require(delivery["headers"] as? [String: String])
            #expect(headers["apns-priority"] == "10" && headers["apns-collapse-id"] == "c")
            let expiration = try #require(Int64(headers["apns-expiration"] ?? ""))
            #expect(abs(expiration - Int64(Date().timeIntervalSince1970) - 60) < 30)
            let payload = try #require(delivery["payload"] as? [String: Any])
            #expect(payload["n"] as? String == "1" && payload["o"] as? String == #"{"a":[true]}"#)
            let aps = try #require(payload["aps"] as? [String: Any])
            #expect(aps["category"] as? String == "OPEN" && aps["badge"] as? Int == 3)
            let alert = try #require(aps["alert"] as? [String: Any])
            #expect(alert["title"] as? String == "T" && alert["body"] as? String == "B")
        }
    }
}
