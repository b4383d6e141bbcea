import FanfareModel
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A worker process that is frozen while an operator pauses its job.
@Suite(.serialized) struct FreezeTests {
    private func operate(_ rig: Rig, _ configuration: String, _ act: String) async throws {
        let process = try ChildProcess(["job", act, "p", "-c", configuration, "--project", rig.project])
        #expect(try await process.wait() == 0, "\(process.stderr)")
    }

    /// The sends that FCM has received, once no more arrive.
    private func settledSends(_ rig: Rig) async throws -> Int {
        var last = -1
        try await Wait.until("FCM to receive what the worker wrote", everyMs: 300) {
            let sends = try await rig.stats().sends
            defer { last = sends }
            return sends == last
        }
        return last
    }

    /// A connection may finish writing what it had begun to write: at most the streams of one connection.
    @Test(arguments: HTTPEngine.allCases) func thawedWorkerBeginsNoSendOfAJobPausedMeanwhile(engine: HTTPEngine)
        async throws
    {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(extra: "http_engine: \(engine.rawValue)")
            let worker = try await rig.startWorker(configuration)
            try await rig.push([
                "id": "p", "message": #"{"data":{"k":"v"}}"#, "results": "none",
                "tokens": Rig.tokens((0..<10_000).map { "sbx-slow-20-\($0)" }),
            ])
            var seen = 0
            for _ in 0..<3 {
                try await Wait.until("sends") { try await rig.stats().sends > seen + 300 }
                worker.signal(SIGSTOP)
                try await operate(rig, configuration, "pause")
                // The worker's last news are more than a second old then.
                try await Task.sleep(for: .milliseconds(1_200))
                let before = try await settledSends(rig)
                worker.signal(SIGCONT)
                let claims = RedisCommand("KEYS", "fanfare:{\(rig.project)}:claims:*")
                try await Wait.until("the worker to give the job's batches back") {
                    try await rig.client.send(claims).array?.isEmpty == true
                }
                seen = try await settledSends(rig)
                #expect(seen - before <= 100, "\(seen - before) sends began after the pause")
                try await operate(rig, configuration, "resume")
            }
            let job = try await rig.finished("p", seconds: 120)
            #expect(job["sent"] == "10000")
            #expect(try await rig.stats().duplicates == 0)
        }
    }
}
