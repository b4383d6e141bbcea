import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

@Suite struct CredentialTests {
    /// The token expires during the run, with hundreds of sends in flight. The worker fetches a new one.
    @Test func expiredTokenIsRenewedWithoutFailures() async throws {
        try await withRig { rig in
            try await rig.startSandbox(["--token-lifetime", "3"])
            _ = try await rig.control("POST", "/faults", #"{"match":{"path":"/v1/"},"action":{"delay_ms":200}}"#)
            try await rig.startWorker(try rig.configuration(worker: "max_in_flight: 200"))
            let tokens = Rig.tokens((0..<6_000).map { "token-\($0)" })
            try await rig.push(["id": "renew", "message": data, "tokens": tokens, "results": "all"])
            let job = try await rig.finished("renew", seconds: 300)
            #expect(job["sent"] == "6000" && job["failed"] == "0")
            let stats = try await rig.stats()
            #expect(stats.duplicates == 0)
        }
    }

    /// An `expires_in` that is not positive must not cause a token request for every send that waits.
    @Test(arguments: ["0", "-1", "\"2\""]) func tokenWithoutALifetimeIsFetchedOnceInTenSeconds(lifetime: String)
        async throws
    {
        try await withRig { rig in
            try await rig.startSandbox()
            let grant = #"{\"access_token\":\"no-such-token\",\"token_type\":\"Bearer\",\"expires_in\":"#
            let escaped = lifetime.replacing("\"", with: "\\\"")
            let fault = try await rig.addFault(
                #"{"match":{"path":"/token"},"action":{"status":200,"body":"\#(grant)\#(escaped)}"}}"#
            )
            func fetches() async throws -> Int { try await rig.faultHits()[fault] ?? 0 }
            let configuration = try rig.configuration()
            let worker = try await rig.startWorker(configuration)
            try await Wait.until("a first token") { try await fetches() > 0 }
            let start = ContinuousClock.now
            try await rig.push(["id": "wait", "message": data, "token": "t"])
            try await Wait.until("the next token", seconds: 30) { try await fetches() > 1 }
            let took = ContinuousClock.now - start
            let count = try await fetches()
            #expect(count == 2 && took > .seconds(8), "\(count) in \(took)")
            try await worker.logged("The token endpoint's expires_in is unusable")

            _ = try await rig.control("DELETE", "/faults?id=\(fault)")
            try await Wait.until("the job to be over\n\(rig.logs)", seconds: 90, everyMs: 1_000) {
                let job = try await rig.job("wait")
                if job["state"] == "paused" { try await rig.fanfare(configuration, ["project", "resume", "demo"]) }
                return job["state"] == "done"
            }
        }
    }

    /// A token that ends before its time harms no recipient: each waits for the next one, and is not refused.
    @Test func revokedTokenIsReplacedBeforeARecipientIsRefused() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            try await rig.push(["id": "warm", "message": data, "token": "warm"])
            try await Wait.until("an accepted send") { try await rig.job("warm")["state"] == "done" }
            let fault = try await rig.addFault(
                #"{"match":{"path":"/v1/"},"action":{"status":401,"body":"{\"error\":{\"code\":401,\"status\":\"UNAUTHENTICATED\",\"message\":\"no\"}}"}}"#
            )
            let tokens = Rig.tokens((0..<50).map { "token-\($0)" })
            try await rig.push(["id": "revoked", "message": data, "tokens": tokens, "results": "all"])
            try await Wait.until("a 401 for each") { try await rig.faultHits()[fault] ?? 0 >= 50 }
            _ = try await rig.control("DELETE", "/faults?id=\(fault)")
            let job = try await rig.finished("revoked", seconds: 90)
            #expect(job["sent"] == "50" && job["reason"] == nil)
            let attempts = try await rig.results("revoked").map(\.attempts)
            #expect(attempts == Array(repeating: 1, count: 50), "no 401 is an attempt: \(attempts)")
        }
    }

    @Test func refusedCredentialPausesTheProjectUntilFCMAcceptsASend() async throws {
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
        }
    }

    /// Nothing of a job that ends early is sent, so it needs no access token.
    @Test func jobsEndEarlyWithoutAnAccessToken() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let fault = try await rig.addFault(#"{"match":{"path":"/token"},"action":{"status":503}}"#)
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            let tokens = Rig.tokens((0..<1_500).map { "token-\($0)" })
            try await rig.push(["id": "fanout", "message": data, "tokens": tokens, "results": "all"])
            try await rig.push(["id": "few", "message": data, "tokens": Rig.tokens(["a", "b"])])
            try await Wait.until("the jobs, and a refusal of the token endpoint") {
                let states = [try await rig.job("fanout")["state"], try await rig.job("few")["state"]]
                return try await rig.faultHits()[fault] ?? 0 > 0 && states.allSatisfy { $0 != nil }
            }
            for id in ["fanout", "few"] { try await rig.fanfare(configuration, ["job", "cancel", id]) }
            #expect(try await rig.finished("fanout")["cancelled"] == "1500")
            #expect(try await rig.finished("few")["cancelled"] == "2")
        }
    }
}
