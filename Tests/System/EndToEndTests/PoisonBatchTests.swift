import Foundation
import RedisTransport
import TestSupport
import Testing

/// Two projects on one worker, of which one has a batch that kills it.
@Suite struct PoisonBatchTests {
    private static let message = #"{"data":{"k":"v"}}"#

    /// Both projects have a batch in flight at the first three deaths. Then only the batch of `sick` kills.
    @Test func projectBesideAPoisonBatchSendsAndLosesNoJob() async throws {
        try await withRig(projects: ["well", "sick"]) { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(worker: "lease_ms: 1500, renew_ms: 300")
            func delay(_ prefix: String) async throws -> String {
                try await rig.addFault(
                    #"{"match":{"path":"/v1/","token_prefix":"\#(prefix)"},"action":{"delay_ms":600000}}"#
                )
            }
            let (poison, slow) = (try await delay("pill-"), try await delay("held-"))
            try await rig.push(["id": "pill", "message": Self.message, "token": "pill-1"], in: "sick")
            try await rig.push(["id": "held", "message": Self.message, "token": "held-1"])
            var deaths = 0
            var worker = try await rig.startWorker(configuration, ["--name", "victim-0"])
            func killAndReplace() async throws {
                worker.signal(SIGKILL)
                _ = try await worker.wait()
                deaths += 1
                worker = try await rig.startWorker(configuration, ["--name", "victim-\(deaths)"])
            }
            for _ in 1...3 {
                try await Wait.until("both requests after \(deaths) deaths\n\(rig.logs)", seconds: 60) {
                    let hits = try await rig.faultHits()
                    return (hits[poison] ?? 0) > deaths && (hits[slow] ?? 0) > deaths
                }
                try await killAndReplace()
            }
            _ = try await rig.control("DELETE", "/faults?id=\(slow)")

            var isParked = false
            while !isParked, deaths < 10 {
                try await Wait.until("the poison batch after \(deaths) deaths\n\(rig.logs)", seconds: 60) {
                    isParked = try await rig.job("pill", in: "sick")["state"] == "parked"
                    let hits = try await rig.faultHits()
                    return isParked || (hits[poison] ?? 0) > deaths
                }
                if isParked { break }
                if deaths == 3 {
                    // The batch is in quarantine, and its request in flight.
                    try await rig.push(["id": "beside", "message": Self.message, "token": "t"])
                    #expect(try await rig.finished("beside")["sent"] == "1")
                }
                try await killAndReplace()
            }
            #expect(deaths == 5, "three beside the other project's batch, two in quarantine")
            #expect(try await rig.finished("held")["sent"] == "1")
            try await rig.push(["id": "after", "message": Self.message, "token": "t"], in: "sick")
            #expect(try await rig.finished("after", in: "sick")["sent"] == "1")
            #expect(try await rig.entries("dead").isEmpty, "no batch is parked for another one's fault")
            let dead = try await rig.entries("dead", in: "sick")
            #expect(dead.map { $0["job"] } == ["pill"] && dead.first?["crashes"] == "5", "\(dead)")
        }
    }
}
