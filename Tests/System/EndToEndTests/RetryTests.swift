import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// Retries of sends. A retry takes at least ten seconds, so these tests run in parallel.
@Suite struct RetryTests {
    private func retried(
        _ tokens: [String],
        fault: String? = nil,
        fields: [String: String] = [:],
        transport: String = "v1",
        check: (Rig, [String: String], [Rig.Recipient]) async throws -> Void
    ) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            if let fault { _ = try await rig.control("POST", "/faults", fault) }
            try await rig.startWorker(try rig.configuration(transport: transport))
            let base = ["id": "retry", "message": data, "tokens": Rig.tokens(tokens), "results": "all"]
            try await rig.push(base.merging(fields) { $1 })
            let job = try await rig.finished("retry", seconds: 150)
            try await check(rig, job, try await rig.results("retry").sorted { $0.i < $1.i })
            #expect(try await rig.privateKeys().isEmpty)
        }
    }

    @Test func onlyFailedRecipientsAreSentAgain() async throws {
        let tokens = ["a", "sbx-unavailable-1-x", "b", "sbx-internal-1-y", "sbx-quota-1-z", "c"]
        try await retried(tokens) { rig, job, results in
            #expect(job["sent"] == "6" && job["state"] == "done")
            #expect(results.map(\.attempts) == [1, 2, 1, 2, 2, 1])
            let stats = try await rig.stats()
            #expect(stats.sends == 9)
            let first = try #require(Int64(job["first_pass_ms"] ?? ""))
            let last = try #require(Int64(job["finished_ms"] ?? ""))
            #expect(last - first >= 9_000, "a retry came earlier than ten seconds")
        }
    }

    /// FCM refused a topic for its rate. Later jobs to that topic wait; jobs to other topics do not.
    @Test func jobsToATopicOverItsRateWait() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "legacy"))
            let busy = "sbx-topicrate-1-x"
            try await rig.push(["id": "first", "message": data, "topic": busy])
            try await Wait.until("a refusal\n\(rig.logs)") {
                try await rig.stats().rejected["TopicsMessageRateExceeded"] == 1
            }
            try await Wait.until("the stored retry\n\(rig.logs)") {
                try await rig.job("first")["retrying"] == "1"
            }
            try await rig.push(["id": "second", "message": data, "topic": busy])
            try await Wait.until("intake of the second job") { try await !rig.job("second").isEmpty }
            try await rig.push(["id": "other", "message": data, "topic": "quiet"])
            try await rig.finished("other")
            #expect(try await rig.stats().sends == 2, "one send to the busy topic and one to the other")
            try await rig.finished("first", seconds: 150)
            try await rig.finished("second", seconds: 150)
            #expect(try await rig.stats().sends == 4)
            let second = try #require(try await rig.results("second").first)
            #expect(second.status == "sent" && second.attempts == 1, "waiting is not an attempt")
        }
    }

    @Test func retryAfterInSecondsOrAsADateIsHonoured() async throws {
        for value in ["12", "DATE"] {
            let retryAfter: String
            if value == "DATE" {
                let formatter = DateFormatter()
                formatter.locale = Locale(identifier: "en_US_POSIX")
                formatter.timeZone = TimeZone(identifier: "GMT")
                formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
                retryAfter = formatter.string(from: Date(timeIntervalSinceNow: 14))
            } else {
                retryAfter = value
            }
            let fault = """
                {"match":{"path":"/v1/"},"action":{"status":503,"retry_after":"\(retryAfter)"},"times":1}
                """
            try await retried(["only"], fault: fault) { _, job, results in
                #expect(results.map(\.attempts) == [2] && results.map(\.status) == ["sent"])
                let first = try #require(Int64(job["first_pass_ms"] ?? ""))
                let last = try #require(Int64(job["finished_ms"] ?? ""))
                #expect(last - first >= 11_500, "\(retryAfter): \(last - first) ms")
            }
        }
    }

    @Test func lostAnswerCausesAFlaggedDuplicate() async throws {
        try await retried(["sbx-lost-1-a", "b"]) { rig, _, results in
            #expect(results.map(\.status) == ["sent", "sent"])
            #expect(results.map(\.maybe_dup) == [true, nil] || results.map(\.maybe_dup) == [true, false])
            let stats = try await rig.stats()
            #expect(stats.duplicates == 1)
        }
    }

    @Test func lostAnswerIsUnknownAndNotSentAgainAtMostOnce() async throws {
        let fields = ["delivery": "at_most_once"]
        try await retried(["sbx-lost-1-a", "b"], fields: fields) { rig, job, results in
            #expect(results.map(\.status) == ["unknown", "sent"] && job["unknown"] == "1")
            let stats = try await rig.stats()
            #expect(stats.duplicates == 0)
        }
    }

    @Test func messageWithZeroTTLHasOneAttempt() async throws {
        let message = #"{"data":{"k":"v"},"android":{"ttl":"0s"}}"#
        try await retried(["sbx-unavailable-1-a", "b"], fields: ["message": message]) { rig, job, results in
            #expect(results.map(\.status) == ["expired", "sent"] && job["state"] == "expired")
            let stats = try await rig.stats()
            #expect(stats.sends == 2)
        }
    }

    @Test func retryAfterPastTheExpiryExpiresTheRecipientAtOnce() async throws {
        let fault = #"{"match":{"path":"/v1/"},"action":{"status":503,"retry_after":"600"},"times":1}"#
        let expires = Int64(Date().timeIntervalSince1970 * 1_000) + 60_000
        try await retried(["a"], fault: fault, fields: ["expires_at": "\(expires)"]) { _, job, results in
            #expect(results.map(\.status) == ["expired"])
            let first = try #require(Int64(job["started_ms"] ?? ""))
            let last = try #require(Int64(job["finished_ms"] ?? ""))
            #expect(last - first < 5_000)
        }
    }

    @Test func legacyJobOfMixedTokensReportsEveryResult() async throws {
        let tokens = (0..<2_500).map { index -> String in
            switch index % 10 {
            case 1: return "sbx-unregistered-\(index)"
            case 2: return "sbx-canonical-\(index)"
            case 3 where index % 100 == 3: return "sbx-unavailable-1-\(index)"
            // A duplicate in one request: sent once, with a result for each occurrence.
            case 5: return "token-\(index - 1)"
            default: return "token-\(index)"
            }
        }
        let message = #"{"notification":{"title":"Hi"},"time_to_live":3600}"#
        let fields = ["message": message, "format": "legacy"]
        try await retried(tokens, fields: fields, transport: "legacy") { rig, job, results in
            #expect(job["sent"] == "2250" && job["failed"] == "250")
            #expect(results.map(\.i) == Array(0..<2_500))
            #expect(results.allSatisfy { $0.token == tokens[$0.i] })
            for result in results where result.i % 10 == 2 { #expect(result.canonical == "canon-\(result.i)") }
            #expect(results.filter { $0.attempts == 2 }.map(\.i) == stride(from: 3, to: 2_500, by: 100).map { $0 })
            let stats = try await rig.stats()
            #expect(stats.duplicates == 0)
            #expect(
                stats.requests <= 3 + 20,
                "a batch is one request, and the retries of one second share a request"
            )
        }
    }
}
