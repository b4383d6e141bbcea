import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A personal fan-out on a fleet that is harmed: every device gets its own text, in its own variant, once or flagged.
@Suite struct CampaignChaos {
    private static let count = 6_000

    @Test func everyDeviceGetsItsOwnText() async throws {
        try await withRig(redis: try RedisServer()) { rig in
            try await rig.startSandbox(["--quota-per-minute", "100000000"])
            _ = try await rig.control("POST", "/faults", #"{"match":{"path":"/v1/"},"action":{"delay_ms":100}}"#)
            let configuration = try rig.configuration(
                worker: "lease_ms: 1500, renew_ms: 300, max_in_flight: 60, watermark_step: 32"
            )
            var fleet: [ChildProcess] = []
            for _ in 0..<3 { fleet.append(try await rig.startWorker(configuration)) }
            var command = RedisCommand("RPUSH", "people:{demo}:1")
            for index in 0..<Self.count { command.append(Self.element(index)) }
            _ = try await rig.client.send(command)
            try await rig.push([
                "id": "c", "audience": "people:{demo}:1", "audience_format": "json", "results": "all", "canary": "1500",
                "canary_wait_ms": "1", "message": #"{"notification":{"title":"Hello {{name}}"}}"#,
                "variants": #"{"es":{"notification":{"title":"Hola {{name}}"}}}"#,
            ])
            try await sends(800, rig)
            for round in 1...2 {
                fleet.removeFirst().signal(SIGKILL)
                fleet.append(try await rig.startWorker(configuration))
                try await sends(800 + 1_500 * round, rig)
            }
            rig.redis.kill9()
            try rig.redis.restart()
            // The rig's own connection is lost, too.
            try await Wait.until("an answer of Redis", seconds: 60) {
                (try? await rig.client.send(RedisCommand("PING"))) != nil
            }
            let job = try await rig.finished("c", seconds: 240)
            #expect(job["sent"] == "\(Self.count)", "\(job)")
            try await audit(rig)
        }
    }

    private static func token(_ index: Int) -> String {
        index % 50 == 0
            ? "sbx-unavailable-1-\(index)"
            : index % 3 == 1 ? "sbx-apple-\(index)" : index % 3 == 2 ? "sbx-web-\(index)" : "t\(index)"
    }

    private static func element(_ index: Int) -> String {
        let variant = index % 2 == 0 ? "" : #","variant":"es-AR""#
        return #"{"token":"\#(token(index))","vars":{"name":"N\#(index)"}\#(variant)}"#
    }

    private func sends(_ goal: Int, _ rig: Rig) async throws {
        try await Wait.until("\(goal) sends\n\(rig.logs)", seconds: 120, everyMs: 30) {
            try await rig.stats().sends >= goal
        }
    }

    private func audit(_ rig: Rig) async throws {
        let results = try await rig.results("c")
        #expect(Set(results.map(\.i)).count == Self.count && results.count == Self.count)
        let flagged = Set(results.filter { $0.maybe_dup == true }.map(\.i))
        for index in 0..<Self.count {
            let deliveries = try await rig.deliveries(Self.token(index))
            let title = "\(index % 2 == 0 ? "Hello" : "Hola") N\(index)"
            #expect(!deliveries.isEmpty && deliveries.allSatisfy { $0.contains("\"title\":\"\(title)\"") }, "\(index)")
            #expect(deliveries.count == 1 || flagged.contains(index), "\(index): \(deliveries.count) unflagged")
        }
        #expect(flagged.count < Self.count / 5, "\(flagged.count) flagged")
        print("chaos campaign: \(Self.count) recipients, 2 kills, 1 Redis kill, \(flagged.count) flagged")
    }
}
