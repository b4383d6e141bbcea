import Foundation
import TestSupport
import Testing

private let hello = #"{"notification":{"title":"Hello","body":"World"}}"#

/// Estimates of a topic's audience, and how long a fan-out of that size keeps the slot.
@Suite struct AudienceSizeTests {
    private struct Active: Decodable { var max_active_fanouts: Int }

    private static let devices = 400
    /// Recipients a second of the sandbox's fan-out, which therefore takes two seconds.
    private static let rate = 200
    /// The worker assumes a rate that is a tenth lower, because a counted size is not exact.
    private static let assumedRate = "fanout_rate: 180\n    iid_endpoint: https://localhost:"

    private func maximumActive(_ rig: Rig) async throws -> Int {
        try JSONDecoder().decode(Active.self, from: try await rig.control("GET", "/stats")).max_active_fanouts
    }

    /// Pushes one job to each of two topics and waits until both jobs are done.
    private func sendToBoth(_ rig: Rig, _ round: Int) async throws -> [[String: String]] {
        for topic in ["a", "b"] { try await rig.push(["id": "\(topic)\(round)", "message": hello, "topic": topic]) }
        var jobs: [[String: String]] = []
        for topic in ["a", "b"] { jobs.append(try await rig.finished("\(topic)\(round)")) }
        return jobs
    }

    private func count(_ sentence: String, in worker: ChildProcess) -> Int {
        worker.stderr.components(separatedBy: sentence).count - 1
    }

    @Test func fanoutsToSubscribedTopicsDoNotOverlap() async throws {
        try await withRig { rig in
            try await rig.startSandbox(["--fanout-rate", "\(Self.rate)"])
            let worker = try await rig.startWorker(
                try rig.configuration(project: Self.assumedRate + "\(rig.tlsPort)")
            )
            for topic in ["a", "b"] {
                let tokens = Rig.tokens((0..<Self.devices).map { "\(topic)-\($0)" })
                try await rig.push(["id": "s-\(topic)", "op": "subscribe", "topic": topic, "tokens": tokens])
                try await rig.finished("s-\(topic)")
            }
            for round in 1...2 {
                for job in try await sendToBoth(rig, round) {
                    #expect(job["audience_source"] == "counted", "\(job)")
                    let size = Int(job["audience_estimate"] ?? "") ?? 0
                    #expect((Self.devices * 95 / 100...Self.devices * 105 / 100).contains(size), "\(job)")
                }
            }
            #expect(try await maximumActive(rig) == 1)
            // Logged once per topic, although each topic was sent to twice.
            #expect(count("is a count of Fanfare's own subscriptions", in: worker) == 2, "\(worker.stderr)")
            #expect(count("The size of an audience is not known", in: worker) == 0)
        }
    }

    @Test func fanoutsToTopicsOfConfiguredSizeDoNotOverlap() async throws {
        try await withRig { rig in
            try await rig.startSandbox(["--fanout-rate", "\(Self.rate)"])
            for topic in ["a", "b"] {
                let body = #"{"topic":"\#(topic)","subscribers":\#(Self.devices)}"#
                _ = try await rig.control("POST", "/devices", body)
            }
            let sizes = "\n    topics: { a: \(Self.devices), b: \(Self.devices) }"
            let worker = try await rig.startWorker(
                try rig.configuration(project: Self.assumedRate + "\(rig.tlsPort)" + sizes)
            )
            for job in try await sendToBoth(rig, 1) {
                #expect(job["audience_source"] == "config" && job["audience_estimate"] == "\(Self.devices)", "\(job)")
            }
            #expect(try await maximumActive(rig) == 1)
            #expect(count("The size of an audience", in: worker) == 0, "\(worker.stderr)")
        }
    }

    @Test func unknownAudienceSizeIsWarnedOnce() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let worker = try await rig.startWorker(
                try rig.configuration(project: "topics: { a: 7 }")
            )
            let condition = "'a' in topics || 'x' in topics"
            try await rig.push(["id": "unknown", "message": hello, "condition": condition])
            try await rig.push(["id": "own", "message": hello, "topic": "y", "audience_size": "5"])
            try await rig.push(["id": "checked", "message": hello, "topic": "z", "validate_only": "1"])
            let unknown = try await rig.finished("unknown")
            #expect(unknown["audience_source"] == "none" && unknown["audience_estimate"] == "0", "\(unknown)")
            let own = try await rig.finished("own")
            #expect(own["audience_source"] == "job" && own["audience_estimate"] == "5", "\(own)")
            let checked = try await rig.finished("checked")
            #expect(checked["audience_source"] == nil, "\(checked)")
            try await worker.logged("The size of an audience is not known")
            #expect(count("The size of an audience", in: worker) == 1, "\(worker.stderr)")
        }
    }
}
