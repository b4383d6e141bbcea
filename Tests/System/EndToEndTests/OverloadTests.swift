import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// The effect of 503 answers with Retry-After, and of a refused quota, on a project.
@Suite struct OverloadTests {
    private func hold(_ rig: Rig) async throws -> (untilMs: Int64, isRecovering: Bool) {
        let key = "fanfare:{\(rig.project)}:ctl"
        let values = try await rig.client.send(RedisCommand("HMGET", key, "hold_until", "recovering")).array ?? []
        return (values.first?.string.flatMap { Int64($0) } ?? 0, values.last?.string == "1")
    }

    /// FCM refuses one recipient in a thousand for five minutes. Only those recipients wait.
    @Test func strayRefusalDoesNotHoldTheProject() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let fault = """
                {"match":{"path":"/v1/","token_prefix":"refused-"},"action":{"status":503,"retry_after":"300"},"times":3}
                """
            _ = try await rig.control("POST", "/faults", fault)
            try await rig.startWorker(try rig.configuration(quotaPerMinute: 600_000))
            let tokens = (0..<3_000).map { $0 % 1_000 == 100 ? "refused-\($0)" : "token-\($0)" }
            try await rig.push(["id": "stray", "message": data, "tokens": Rig.tokens(tokens), "results": "all"])
            // A hold would outlast this wait.
            try await Wait.until("every other recipient's result", seconds: 200) {
                try await rig.job("stray")["sent"] == "2997"
            }
            try await Wait.until("three retries") { try await rig.job("stray")["retrying"] == "3" }
            #expect(try await hold(rig).untilMs == 0)
            let sent = Set(try await rig.results("stray").map(\.i))
            #expect(Set(0..<3_000).subtracting(sent) == [100, 1_100, 2_100])
        }
    }

    /// Half of all answers are refusals: two workers send at most 20 requests a second together, and recover later.
    @Test func overloadedProjectSendsAtMostTwentyRequestsASecond() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let fault = #"{"match":{"path":"/v1/","fraction":0.5},"action":{"status":503,"retry_after":"3"}}"#
            let added = try await rig.control("POST", "/faults", fault)
            let configuration = try rig.configuration(quotaPerMinute: 600_000)
            for _ in 0..<2 { try await rig.startWorker(configuration) }
            let tokens = (0..<3_000).map { "token-\($0)" }
            try await rig.push(["id": "half", "message": data, "tokens": Rig.tokens(tokens), "results": "none"])
            try await Wait.until("a hold\n\(rig.logs)") { try await hold(rig).isRecovering }
            // Lets the sends in flight at the start of the hold arrive.
            try await Task.sleep(for: .seconds(1))
            let first = try await rig.stats().requests
            let began = ContinuousClock.now
            try await Task.sleep(for: .seconds(10))
            let requests = try await rig.stats().requests - first
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            #expect(Double(requests) <= 20 * seconds, "\(requests) requests in \(seconds) s")
            #expect(requests > 0, "the workers still probe FCM")
            struct Fault: Decodable { var id: String }
            let id = try JSONDecoder().decode(Fault.self, from: added).id
            _ = try await rig.control("DELETE", "/faults?id=\(id)")
            try await Wait.until("the recovery\n\(rig.logs)", seconds: 60) { try await !hold(rig).isRecovering }
            let job = try await rig.finished("half", seconds: 150)
            #expect(job["sent"] == "3000")
        }
    }

    /// The first 429 for the quota holds the project.
    @Test func refusedQuotaHoldsTheProjectAtOnce() async throws {
        try await withRig { rig in
            try await rig.startSandbox(["--quota-per-minute", "300"])
            try await rig.startWorker(try rig.configuration(quotaPerMinute: 600_000))
            let tokens = (0..<1_500).map { "token-\($0)" }
            try await rig.push(["id": "quota", "message": data, "tokens": Rig.tokens(tokens), "results": "none"])
            try await Wait.until("a hold\n\(rig.logs)") { try await hold(rig).isRecovering }
        }
    }
}
