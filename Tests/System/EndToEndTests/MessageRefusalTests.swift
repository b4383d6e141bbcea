import Foundation
import TestSupport
import Testing

/// A fan-out whose message FCM refuses for many recipients: it is paused with a reason, and continues when it is resumed.
@Suite struct MessageRefusalTests {
    private static let message = #"{"data":{"k":"v"},"android":{"ttl":"1s"}}"#

    /// The sandbox refuses the message for tokens that begin with `bad-`.
    private func refuse(_ rig: Rig) async throws {
        let type = "type.googleapis.com/"
        let error = """
            {"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT","details":[
            {"@type":"\(type)google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"},
            {"@type":"\(type)google.rpc.BadRequest","fieldViolations":[{"field":"message.android.ttl","description":"x"}]}]}}
            """
        let fault: [String: Any] = [
            "match": ["path": "/v1/", "token_prefix": "bad-"], "action": ["status": 400, "body": error],
        ]
        let text = try JSONSerialization.data(withJSONObject: fault)
        _ = try await rig.addFault(String(decoding: text, as: UTF8.self))
    }

    private func pause(of id: String, _ rig: Rig) async throws -> String {
        var job: [String: String] = [:]
        try await Wait.until("the pause; the job is \(job)\n\(rig.logs)") {
            job = try await rig.job(id)
            return job["state"] == "paused"
        }
        return job["reason"] ?? ""
    }

    @Test(arguments: [[:], ["stop_if": "failed>90%"], ["canary": "1000"]])
    func refusedFanOutIsPausedAndGoesOnWhenResumed(guards: [String: String]) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await refuse(rig)
            let configuration = try rig.configuration()
            let worker = try await rig.startWorker(configuration)
            let tokens = (0..<150).map { "bad-\($0)" } + (0..<3_850).map { "ok-\($0)" }
            let fields = ["id": "c", "tokens": Rig.tokens(tokens), "message": Self.message, "results": "all"]
            try await rig.push(fields.merging(guards) { $1 })
            let reason = try await pause(of: "c", rig)
            #expect(reason.contains(/^message refused: \d+ of 100 INVALID_ARGUMENT/), "\(reason)")
            try await worker.logged("A job is paused: FCM refuses its message.")
            let shown = try await rig.fanfare(configuration, ["job", "show", "c"])
            #expect(shown.contains(reason), "\(shown)")
            let sends = try await rig.standstill()
            #expect(sends < 4_000, "\(sends)")
            // What was asked has its own answer; no other recipient has a result.
            let early = try await rig.results("c")
            #expect(early.allSatisfy { $0.attempts == 1 && $0.http_status == ($0.status == "failed" ? 400 : nil) })

            try await rig.fanfare(configuration, ["job", "resume", "c"])
            if guards["canary"] != nil {
                try await Wait.until("the canary's pause") { try await rig.job("c")["reason"] == "canary" }
                try await rig.fanfare(configuration, ["job", "resume", "c"])
            }
            let job = try await rig.finished("c")
            #expect(job["state"] == "done" && job["sent"] == "3850" && job["failed"] == "150", "\(job)")
            let results = try await rig.results("c")
            #expect(results.count == 4_000 && results.allSatisfy { $0.attempts == 1 })
            #expect(try await rig.stats().duplicates == 0)
        }
    }

    /// Each recipient that was never asked is cancelled, and says nothing about an answer.
    @Test func cancelledAfterAPauseNamesNoAnswerOfOthers() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await refuse(rig)
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            let tokens = Rig.tokens((0..<3_000).map { "bad-\($0)" })
            try await rig.push(["id": "c", "tokens": tokens, "message": Self.message, "results": "all"])
            _ = try await pause(of: "c", rig)
            try await rig.fanfare(configuration, ["job", "cancel", "c"])
            let job = try await rig.finished("c")
            #expect(job["state"] == "cancelled" && job["sent"] == "0", "\(job)")
            let results = try await rig.results("c")
            let unasked = results.filter { $0.attempts == 0 }
            #expect(results.count == 3_000 && !unasked.isEmpty)
            #expect(
                unasked.allSatisfy {
                    $0.status == "cancelled" && $0.http_status == nil && $0.raw_error == nil && $0.error == nil
                }
            )
        }
    }
}
