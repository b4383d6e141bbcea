import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// Answers in FCM's JSON that may be about the project or about one recipient.
@Suite struct RefusalTests {
    private static let statuses = [401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"]

    /// FCM refuses tokens that begin with `bad-`, without its own code.
    ///
    /// - Parameter delayMs: how long each refusal takes.
    private func refuseBadTokens(_ rig: Rig, _ status: Int, delayMs: Int = 0) async throws {
        let name = Self.statuses[status] ?? ""
        let body = #"{\"error\":{\"code\":\#(status),\"message\":\"m\",\"status\":\"\#(name)\"}}"#
        _ = try await rig.addFault(
            #"{"match":{"path":"/v1/","token_prefix":"bad-"},"#
                + #""action":{"status":\#(status),"body":"\#(body)","delay_ms":\#(delayMs)}}"#
        )
    }

    private func block(_ rig: Rig) async throws -> String? {
        try await rig.client.send(RedisCommand("HGET", "fanfare:{demo}:ctl", "block")).string
    }

    private func expectSent(_ rig: Rig, _ ids: [String]) async throws {
        for id in ids { try await rig.push(["id": id, "message": data, "token": "good-\(id)"]) }
        for id in ids { #expect(try await rig.finished(id)["sent"] == "1", "\(id)") }
    }

    @Test(arguments: [401, 403, 404]) func refusedRecipientFailsAloneAndTheOthersAreSent(status: Int) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await refuseBadTokens(rig, status)
            try await rig.startWorker(try rig.configuration())
            try await expectSent(rig, ["warm"])
            try await rig.push(["id": "bad", "message": data, "token": "bad-1", "results": "all"])
            try await Wait.until("the refusal\n\(rig.logs)") {
                try await rig.job("bad")["reason"]?.hasPrefix("refused: HTTP \(status)") == true
            }
            try await expectSent(rig, (0..<20).map { "s\($0)" })
            #expect(try await block(rig) == nil)
            try await Wait.until("two more tries\n\(rig.logs)") {
                _ = try await rig.client.send(RedisCommand("ZADD", "fanfare:{demo}:retry", "XX", "1", "bad/0"))
                return try await rig.job("bad")["state"] == "done"
            }
            let result = try #require(try await rig.results("bad").first)
            #expect(result.status == "failed" && result.error == "UNSPECIFIED_ERROR" && result.attempts == 3)
            #expect(result.action == "fix_credentials" && result.http_status == status, "\(result)")
            #expect(try await rig.job("bad")["reason"] == nil)
        }
    }

    @Test func firstRefusalOfANewCredentialBlocksUntilAnotherRecipientIsAccepted() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await refuseBadTokens(rig, 403)
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            try await rig.push(["id": "bad", "message": data, "token": "bad-1"])
            try await Wait.until("the block\n\(rig.logs)") { try await rig.job("bad")["state"] == "paused" }
            #expect(try await rig.state(configuration).hasPrefix("blocked: HTTP 403 PERMISSION_DENIED"))
            try await rig.push(["id": "good", "message": data, "token": "good"])
            #expect(try await rig.finished("good")["sent"] == "1", "it is the probe at once, not the refused one")
            try await Wait.until("the end of the block") { try await block(rig) == nil }
            try await expectSent(rig, ["next"])
            #expect(try await rig.job("bad")["state"] != "paused")
        }
    }

    @Test func fiveRefusedRecipientsInARowBlockTheProject() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await refuseBadTokens(rig, 404)
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            try await expectSent(rig, ["warm"])
            for number in 0..<5 {
                #expect(try await block(rig) == nil, "\(number) recipients are not evidence enough")
                try await rig.push(["id": "bad\(number)", "message": data, "token": "bad-\(number)"])
                try await Wait.until("the refusal of \(number)\n\(rig.logs)") {
                    try await rig.job("bad\(number)")["reason"] != nil
                }
            }
            #expect(try await block(rig)?.hasPrefix("HTTP 404 NOT_FOUND") == true)
            #expect(try await rig.job("bad0")["state"] == "paused")
            try await rig.push(["id": "good", "message": data, "token": "good"])
            #expect(try await rig.finished("good")["sent"] == "1")
            try await Wait.until("the end of the block") { try await block(rig) == nil }
            try await expectSent(rig, ["next"])
        }
    }

    /// The block that they lead to is probed with another job, at once each time.
    @Test func refusedRecipientsInARowOfOneJobStopNoOtherJob() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            // The worker learns of the block, by a claim, before it sends to the good ones.
            try await refuseBadTokens(rig, 403, delayMs: 50)
            try await rig.startWorker(try rig.configuration(worker: "max_in_flight: 5, watermark_step: 5"))
            try await expectSent(rig, ["warm"])
            let tokens = (0..<60).map { "bad-\($0)" } + (0..<40).map { "good-\($0)" }
            let list = try #require(String(data: JSONEncoder().encode(tokens), encoding: .utf8))
            try await rig.push(["id": "mixed", "message": data, "tokens": list])
            try await Wait.until("the block\n\(rig.logs)") { try await block(rig) != nil }
            var others = 0
            try await Wait.until("the job's other recipients\n\(rig.logs)") {
                try await expectSent(rig, ["other\(others)"])
                others += 1
                return try await rig.job("mixed")["sent"] == "40"
            }
            // A refused recipient is tried again after a minute, so a slow machine may end some of them as failed.
            try await Wait.until("the refused recipients\n\(rig.logs)") {
                let job = try await rig.job("mixed")
                return (Int(job["retrying"] ?? "") ?? 0) + (Int(job["failed"] ?? "") ?? 0) == 60
            }
        }
    }
}
