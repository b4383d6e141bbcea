import Foundation
import TestSupport
import Testing

/// `fanfare send` and a worker.
@Suite struct SendTests {
    @Test func idThatWasSentBeforeIsReportedAndNotSentAgain() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            let line = ["send", "--token", "a", "--title", "x", "--id", "once", "--wait", "-c", configuration]
            let first = try ChildProcess(line + ["--project", rig.project])
            #expect(try await first.wait() == 0)
            // The project is served and sends: there is nothing to warn of.
            #expect(!first.stderr.contains("warning") && !first.stderr.contains("before"), "\(first.stderr)")
            let second = try ChildProcess(line + ["--project", rig.project, "--json"])
            #expect(try await second.wait() == 0)
            #expect(second.stderr == "fanfare: job once was pushed before (state done): nothing is sent\n")
            #expect(second.stdout.contains(#""sent":1"#) && second.stdout.contains(#""duplicate":true"#))
            #expect(try await rig.stats().sends == 1)
        }
    }

    /// Several pushes of an id at once: one job is sent, and every push ends with it.
    @Test func pushesOfOneIDAtOnceSendOnce() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            let line = [
                "send", "--token", "a", "--title", "x", "--id", "race", "--wait", "--json", "-c", configuration,
            ]
            let pushes = try (0..<6).map { _ in try ChildProcess(line + ["--project", rig.project]) }
            for push in pushes { #expect(try await push.wait() == 0, "\(push.stderr)") }
            let own = pushes.filter { !$0.stdout.contains(#""duplicate":true"#) }
            #expect(own.count == 1, "\(pushes.map(\.stdout))")
            #expect(try await rig.stats().sends == 1)
        }
    }

    /// Without a configuration, only the workers say which projects exist.
    @Test func projectThatNoWorkerServesIsRefusedAndForgotten() async throws {
        try await withRig(projects: ["shop"]) { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            func run(_ arguments: [String]) async throws -> (status: Int32, out: String, err: String) {
                let link = ["-c", "/dev/null", "--redis", "unix://\(rig.redis.socketPath)"]
                let process = try ChildProcess(arguments + link)
                return (try await process.wait(), process.stdout, process.stderr)
            }
            let send = ["send", "--token", "a", "--title", "x", "--wait", "--project"]
            #expect(try await run(send + ["shop"]).status == 0)
            let wrong = try await run(send + ["shpo"])
            #expect(wrong.status == 64 && wrong.err.contains("did you mean shop?"), "\(wrong.err)")
            let push = ["topic", "subscribe", "--topic", "t", "--token", "a", "--project", "shpo", "--force"]
            #expect(try await run(push).status == 0)
            #expect(try await run(["project", "ls"]).out.contains("shpo"))
            let live = try await run(["project", "forget", "shop", "--yes", "--force"])
            #expect(live.status == 1 && live.err.contains("is served by a live worker"), "\(live.err)")
            #expect(try await run(["project", "forget", "shpo", "--yes"]).status == 0)
            #expect(try await !run(["project", "ls"]).out.contains("shpo"))
            #expect(try await run(send + ["shop"]).status == 0)
        }
    }

    /// What the command lets through is accepted by the worker, and what it refuses would be rejected.
    @Test func commandAndWorkerAgree() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            let rows: [(arguments: [String], isFine: Bool)] = [
                (["--topic", "news", "--data", "k=v"], true), (["--condition", "'a' in topics", "--title", "x"], true),
                (["--token", "a b", "--title", "x"], false), (["--token", "a", "--data", "from=x"], false),
                (["--topic", "news", "--data", "k=" + String(repeating: "x", count: 2_048)], false),
                (["--condition", "'a' in", "--title", "x"], false),
            ]
            for (index, (arguments, isFine)) in rows.enumerated() {
                let line = ["send", "--project", rig.project, "-c", configuration, "--id", "row-\(index)"] + arguments
                let checked = try ChildProcess(line)
                #expect(try await checked.wait() == (isFine ? 0 : 64), "\(checked.stderr)")
                if isFine {
                    #expect(try await rig.finished("row-\(index)")["state"] == "done", "\(arguments)")
                    continue
                }
                let unchecked = try ChildProcess(line + ["--no-check"])
                #expect(try await unchecked.wait() == 0)
                let job = try await rig.finished("row-\(index)")
                #expect(job["state"] == "rejected", "\(arguments)")
                #expect(checked.stderr.hasPrefix("fanfare: \(job["reason"] ?? "?")\n"), "\(checked.stderr)")
            }
        }
    }
}
