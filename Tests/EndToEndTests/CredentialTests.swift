import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

@Suite struct CredentialTests {
    /// FCM starts to refuse the token in mid-run, with hundreds of sends on the wire: one fetch mends it.
    @Test func aTokenThatEndsInMidRunIsRenewedOnce() async throws {
        try await withRig { rig in
            try await rig.startSandbox(["--token-lifetime", "3"])
            _ = try await rig.control("POST", "/faults", #"{"match":{"path":"/v1/"},"action":{"delay_ms":200}}"#)
            try await rig.startWorker(try rig.configuration(worker: "max_in_flight: 200"))
            let tokens = Rig.tokens((0..<6_000).map { "token-\($0)" })
            try await rig.push(["id": "renew", "message": data, "tokens": tokens, "results": "all"])
            let job = try await rig.finished("renew", seconds: 90)
            #expect(job["sent"] == "6000" && job["failed"] == "0")
            let stats = try await rig.stats()
            #expect(stats.duplicates == 0)
        }
    }

    @Test func aRefusedCredentialPausesTheProjectAndLosesNothing() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let fault = try await rig.control(
                "POST",
                "/faults",
                #"{"match":{"path":"/v1/"},"action":{"status":403,"body":"{\"error\":{\"code\":403,\"status\":\"PERMISSION_DENIED\",\"message\":\"denied\"}}"}}"#
            )
            try await rig.startWorker(try rig.configuration())
            let tokens = Rig.tokens((0..<50).map { "token-\($0)" })
            try await rig.push(["id": "denied", "message": data, "tokens": tokens, "results": "all"])
            try await Wait.until("the job to pause") { try await rig.job("denied")["state"] == "paused" }
            let paused = try await rig.job("denied")
            #expect(paused["reason"]?.contains("403") == true, "\(paused)")
            #expect(paused["failed"] == "0" && paused["sent"] == "0")
            let id = try JSONDecoder().decode([String: String].self, from: fault)["id"] ?? ""
            _ = try await rig.control("DELETE", "/faults?id=\(id)")
            let job = try await rig.finished("denied", seconds: 90)
            #expect(job["sent"] == "50" && job["reason"] == nil)
            #expect(try await rig.results("denied").allSatisfy { $0.attempts == 1 }, "no attempt was counted")
        }
    }
}
