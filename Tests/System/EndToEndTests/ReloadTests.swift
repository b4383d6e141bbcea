import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// A worker takes up another configuration while it runs: by SIGHUP, and by watching its files.
@Suite(.serialized) struct ReloadTests {
    /// A worker whose configuration file the test rewrites.
    private final class Subject {
        let rig: Rig
        let path: String
        private(set) var worker: ChildProcess?

        init(_ rig: Rig, folder: Bool = false) throws {
            self.rig = rig
            path = rig.directory.appendingPathComponent("fanfare.yaml").path
            let projects = rig.directory.appendingPathComponent("projects.d")
            if folder { try FileManager.default.createDirectory(at: projects, withIntermediateDirectories: true) }
        }

        /// Writes the configuration as editors do: to another file, which is renamed.
        func write(_ projects: String, ca: String? = nil, extra: String = "") throws {
            let text = """
                redis: { url: "unix://\(rig.redis.socketPath)" }
                projects:
                \(projects)
                tls: { ca_file: \(ca ?? "\(rig.state.path)/ca.pem") }
                worker: { max_in_flight: 150, request_timeout_ms: 60000 }
                admin: { listen: 127.0.0.1:0 }
                \(extra)
                """
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }

        /// The settings of a project that sends to a rig's sandbox, as a line of the file.
        func project(_ id: String, quota: Int = 100_000_000, to target: Rig? = nil) -> String {
            "  \(id): { \(settings(id, quota: quota, to: target).joined(separator: ", ")) }"
        }

        func settings(_ id: String, quota: Int = 100_000_000, to target: Rig? = nil) -> [String] {
            let sandbox = target ?? rig
            return [
                "endpoint: \"https://localhost:\(sandbox.tlsPort)\"", "quota_per_minute: \(quota)",
                "credentials: \(sandbox.state.path)/service-account-\(id).json",
            ]
        }

        /// Writes a file of `projects_dir`; nil removes it.
        func writeFile(_ id: String, _ settings: [String]?) throws {
            let file = rig.directory.appendingPathComponent("projects.d/\(id).yaml")
            guard let settings else { return try FileManager.default.removeItem(at: file) }
            try settings.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        }

        func start() async throws { worker = try await rig.startWorker(path) }

        func hangUp() { worker?.signal(SIGHUP) }

        /// Waits until the log holds a sentence so many times.
        func logged(_ sentence: String, times: Int = 1) async throws {
            try await Wait.until("'\(sentence)' \(times) times\n\(rig.logs)", seconds: 60) {
                (worker?.stderr ?? "").components(separatedBy: sentence).count > times
            }
        }

        func metric(_ name: String) throws -> String? {
            let log = worker?.stderr ?? ""
            let port = log.firstMatch(of: /The admin address listens\. address=127\.0\.0\.1:(\d+)/).flatMap {
                Int($0.1)
            }
            let text = try LoopbackHTTP(port: try #require(port)).request("GET", "/metrics", nil)
            let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
            return lines.first { $0.hasPrefix(name + " ") }.map { String($0.dropFirst(name.count + 1)) }
        }
    }

    /// Every recipient has one result, `sent` at the first attempt, and no device got the message twice.
    private func expectEachSentOnce(_ rig: Rig, _ job: String, in project: String? = nil, count: Int) async throws {
        let done = try await rig.finished(job, in: project, seconds: 120)
        #expect(done["sent"] == "\(count)", "\(done)")
        let results = try await rig.results(in: project)[job] ?? []
        #expect(Set(results.map(\.i)).count == count && results.count == count)
        #expect(results.allSatisfy { $0.status == "sent" && $0.attempts == 1 && $0.maybe_dup == nil })
    }

    /// The credential and the sandbox that knows it change during a fan-out: nothing goes out under the old key after the
    /// worker says that it uses the new one.
    @Test func rotatedKeyIsTheOnlyOneUsedFromThenOn() async throws {
        try await withRig { rig in
            try await withRig { new in
                try await rig.startSandbox()
                try await new.startSandbox()
                for sandbox in [rig, new] {
                    let slow = #"{"match":{"path":"/v1/"},"action":{"delay_ms":200}}"#
                    _ = try await sandbox.control("POST", "/faults", slow)
                }
                let subject = try Subject(rig)
                let ca = rig.directory.appendingPathComponent("both.pem").path
                let both = try ["\(rig.state.path)/ca.pem", "\(new.state.path)/ca.pem"].map {
                    try String(contentsOfFile: $0, encoding: .utf8)
                }
                try both.joined().write(toFile: ca, atomically: true, encoding: .utf8)
                try subject.write(subject.project("demo"), ca: ca)
                try await subject.start()
                let tokens = Rig.tokens((0..<3_000).map { "t-\($0)" })
                try await rig.push(["id": "all", "message": data, "tokens": tokens, "results": "all"])
                try await Wait.until("1000 sends\n\(rig.logs)") { try await rig.stats().sends >= 1_000 }
                try subject.write(subject.project("demo", to: new), ca: ca)
                subject.hangUp()
                try await subject.logged("A project runs under its new settings.")
                let before = try await rig.stats()
                // However fast the fan-out was, this job comes after the reload.
                try await rig.push(["id": "next", "message": data, "token": "next", "results": "all"])
                try await expectEachSentOnce(rig, "next", count: 1)
                try await expectEachSentOnce(rig, "all", count: 3_000)
                let (old, later) = (try await rig.stats(), try await new.stats())
                #expect(old.sends == before.sends, "sends under the old key after the reload")
                #expect(old.accepted + later.accepted == 3_001 && later.accepted > 0)
                #expect(old.duplicates == 0 && later.duplicates == 0)
                #expect(try await rig.privateKeys().isEmpty)
            }
        }
    }

    /// The HTTP engine changes during a fan-out, there and back: requests in flight end on their old connections.
    @Test func engineChangesDuringAFanout() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let slow = #"{"match":{"path":"/v1/"},"action":{"delay_ms":100}}"#
            _ = try await rig.control("POST", "/faults", slow)
            let subject = try Subject(rig)
            try subject.write(subject.project("demo"))
            try await subject.start()
            let tokens = Rig.tokens((0..<4_500).map { "t-\($0)" })
            try await rig.push(["id": "all", "message": data, "tokens": tokens, "results": "all"])
            for (round, engine) in ["nghttp2", "curl"].enumerated() {
                let sends = 1_000 + 2_000 * round
                try await Wait.until("\(sends) sends\n\(rig.logs)") { try await rig.stats().sends >= sends }
                try subject.write(subject.project("demo"), extra: "http_engine: \(engine)")
                subject.hangUp()
                try await subject.logged("A project runs under its new settings.", times: round + 1)
                let gauge = #"fanfare_project_info{project="demo",transport="v1",engine="\#(engine)"}"#
                try await Wait.until("the engine in the metrics") { try subject.metric(gauge) == "1" }
            }
            try await expectEachSentOnce(rig, "all", count: 4_500)
            #expect(try await rig.stats().duplicates == 0)
        }
    }

    /// A project comes, changes and goes by its file in `projects_dir`, while another project sends.
    @Test func projectIsAddedChangedAndRemovedByItsFile() async throws {
        try await withRig(projects: ["demo", "shop"]) { rig in
            try await rig.startSandbox()
            let slow = #"{"match":{"path":"/v1/projects/demo/"},"action":{"delay_ms":500}}"#
            _ = try await rig.control("POST", "/faults", slow)
            let subject = try Subject(rig, folder: true)
            try subject.write(subject.project("demo"), extra: "projects_dir: projects.d")
            try await subject.start()
            // 150 in flight, each answered after half a second: thirteen seconds on any machine.
            let tokens = Rig.tokens((0..<4_000).map { "t-\($0)" })
            try await rig.push(["id": "long", "message": data, "tokens": tokens, "results": "all"])
            try await Wait.until("sends") { try await rig.stats().sends > 0 }

            try await rig.push(["id": "s1", "message": data, "token": "s1", "results": "all"], in: "shop")
            try subject.writeFile("shop", subject.settings("shop"))
            try await expectEachSentOnce(rig, "s1", in: "shop", count: 1)

            // The quota alone changes in place: the project keeps its lease.
            let lease = try rig.redis.cli("HKEYS", "fanfare:{shop}:leases")
            try subject.writeFile("shop", subject.settings("shop", quota: 60_000))
            subject.hangUp()
            try await subject.logged("updated=shop")
            try await Wait.until("the new quota") {
                try rig.redis.cli("HGET", "fanfare:{shop}:ctl", "quota") == "60000"
            }
            #expect(try rig.redis.cli("HKEYS", "fanfare:{shop}:leases") == lease)

            try subject.writeFile("shop", nil)
            try await subject.logged("A project was removed.")
            #expect(try rig.redis.cli("HLEN", "fanfare:{shop}:leases") == "0")
            #expect(try subject.metric(#"fanfare_in_flight{project="shop"}"#) == nil)
            try await rig.push(["id": "s2", "message": data, "token": "s2", "results": "all"], in: "shop")
            #expect(try await rig.job("long")["state"] == "active", "the other project sends all the time")
            #expect(try await rig.length("jobs", in: "shop") == 1, "no worker serves the project")

            try subject.writeFile("shop", subject.settings("shop"))
            subject.hangUp()
            try await expectEachSentOnce(rig, "s2", in: "shop", count: 1)
            try await expectEachSentOnce(rig, "long", count: 4_000)
            #expect(try await rig.stats().duplicates == 0)
        }
    }

    @Test func refusedStateChangesNothing() async throws {
        try await withRig(projects: ["demo", "shop"]) { rig in
            try await rig.startSandbox()
            let subject = try Subject(rig, folder: true)
            try subject.writeFile("shop", subject.settings("shop"))
            try subject.write(subject.project("demo"), extra: "projects_dir: projects.d")
            try await subject.start()
            func send(_ id: String) async throws {
                for project in rig.projects {
                    try await rig.push(["id": id, "message": data, "token": id, "results": "all"], in: project)
                    try await rig.finished(id, in: project)
                }
            }
            try await send("a")
            #expect(try subject.metric("fanfare_config_refused") == "0")

            // Noticed by the file alone; the project that would be new is not taken up.
            try subject.write(subject.project("demo") + "\n  shopp: {}", extra: "projects_dir: projects.d\nredsi: {}")
            try await subject.logged("The changed configuration is refused, and nothing changes")
            try await subject.logged(#"problem="redsi (line 9): unknown key; did you mean redis?""#)
            #expect(try subject.metric("fanfare_config_refused") == "1")
            #expect(try subject.metric(#"fanfare_config_reloads_total{result="refused"}"#) == "1")
            try await send("b")

            // A refused file keeps its own project; the quota of the other project changes.
            try subject.writeFile("shop", ["endpoint: ftp://x"])
            try subject.write(subject.project("demo", quota: 60_000), extra: "projects_dir: projects.d")
            subject.hangUp()
            try await subject.logged("A file of projects_dir is refused, and its project stays as it was")
            try await subject.logged("updated=demo")
            try await send("c")
            #expect(try subject.metric("fanfare_config_refused") == "1")

            try subject.writeFile("shop", subject.settings("shop"))
            try await subject.logged("The configuration is good again.")
            #expect(try subject.metric("fanfare_config_refused") == "0")
            try await send("d")

            // A project whose line of the credential was lost keeps the credential.
            try subject.write("  demo: { \(subject.settings("demo")[0]) }", extra: "projects_dir: projects.d")
            subject.hangUp()
            try await subject.logged("projects.demo.credentials: none named, GOOGLE_APPLICATION_CREDENTIALS is not set")
            try await send("lost")

            // What a reload does not change is named.
            try subject.write(subject.project("demo"), extra: "projects_dir: projects.d\nprefix: other")
            subject.hangUp()
            try await subject.logged("Changed settings keep their old values until the worker restarts.")
            try await subject.logged("settings=prefix")
            try await send("e")
        }
    }

    @Test func changedFileThatNeedsARestartIsNoticedAndNamed() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let subject = try Subject(rig)
            let headers = rig.directory.appendingPathComponent("headers").path
            func write(_ key: String) throws {
                try "Key: \(key)".write(toFile: headers, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: headers)
            }
            try write("one")
            try subject.write(subject.project("demo"), extra: "telemetry: { headers_file: headers }")
            try await subject.start()
            try write("two")
            try await subject.logged("Changed settings keep their old values until the worker restarts.")
            try await subject.logged("settings=telemetry.headers_file")
            #expect(subject.worker?.stderr.contains("two") == false)
        }
    }

    @Test func deletedCredentialBlocksTheProjectUntilItIsBack() async throws {
        try await withRig(projects: ["demo", "shop"]) { rig in
            try await rig.startSandbox()
            let subject = try Subject(rig)
            try subject.write([subject.project("demo"), subject.project("shop")].joined(separator: "\n"))
            try await subject.start()
            try await rig.push(["id": "a", "message": data, "token": "a"])
            try await rig.finished("a")
            let file = rig.state.appendingPathComponent("service-account-demo.json")
            let away = rig.state.appendingPathComponent("away")
            try FileManager.default.moveItem(at: file, to: away)
            try await subject.logged("A project has lost its credential")
            try await subject.logged("A project runs under its new settings.")
            let sends = try await rig.stats().sends
            try await rig.push(["id": "b", "message": data, "token": "b", "results": "all"])
            try await Wait.until("the block\n\(rig.logs)") {
                try await rig.state(subject.path).contains("credentials: the file was deleted")
            }
            #expect(try await rig.state(subject.path).hasPrefix("blocked"))
            #expect(try await rig.stats().sends == sends, "nothing is sent under the deleted key")
            try await rig.push(["id": "c", "message": data, "token": "c"], in: "shop")
            try await rig.finished("c", in: "shop")

            try FileManager.default.moveItem(at: away, to: file)
            try await subject.logged("A project runs under its new settings.", times: 2)
            let done = try await rig.finished("b", seconds: 90)
            #expect(done["sent"] == "1")
            #expect(try await rig.results("b").map(\.attempts) == [1], "the block cost no attempt")
            #expect(try await rig.stats().duplicates == 0)
        }
    }

    /// Jobs of another transport that wait in Redis, and that the new one cannot carry.
    @Test func storedJobThatTheNewTransportCannotCarryFails() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let subject = try Subject(rig)
            try subject.write(subject.project("demo"))
            try await subject.start()
            let later = Int64(Date().timeIntervalSince1970 * 1_000) + 8_000
            let held = ["message": data, "not_before": "\(later)", "results": "all"]
            try await rig.push(held.merging(["id": "fid", "fid": "abc"]) { $1 })
            try await rig.push(held.merging(["id": "token", "token": "t"]) { $1 })
            try await Wait.until("the jobs to be stored") {
                let states = [try await rig.job("fid")["state"], try await rig.job("token")["state"]]
                return states == ["scheduled", "scheduled"]
            }
            let settings = [
                "transport: legacy", "endpoint: \"https://localhost:\(rig.tlsPort)\"",
                "server_key_file: \(rig.state.path)/server-key-demo",
            ]
            try subject.write("  demo: { \(settings.joined(separator: ", ")) }")
            subject.hangUp()
            try await subject.logged("A project runs under its new settings.")
            #expect(try await rig.finished("fid")["failed"] == "1")
            #expect(try await rig.finished("token")["sent"] == "1")
            let result = try #require(try await rig.results("fid").first)
            #expect(result.error == "INVALID_ARGUMENT" && result.action == "fix_message")
            #expect(result.raw_error == "fid: only with the v1 transport, this project's is legacy")
        }
    }

    /// Each reload opens connections and timers, and closes the previous project's.
    @Test func manyReloadsLeaveNoConnectionBehind() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let subject = try Subject(rig)
            try subject.write(subject.project("demo"))
            try await subject.start()
            func reopen(_ round: Int) async throws {
                let line = subject.project("demo").replacing(" }", with: ", sender_id: \"\(round + 1)\" }")
                try subject.write(line)
                subject.hangUp()
                try await subject.logged("A project runs under its new settings.", times: round + 1)
                try await rig.push(["id": "j\(round)", "message": data, "token": "t\(round)"])
                try await rig.finished("j\(round)")
            }
            func files() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/\(subject.worker?.pid ?? 0)/fd").count
            }
            for round in 0..<3 { try await reopen(round) }
            let open = try files()
            for round in 3..<15 { try await reopen(round) }
            #expect(try files() <= open + 3)
            #expect(try rig.redis.cli("HLEN", "fanfare:{demo}:leases") == "1")
            #expect(try await rig.stats().duplicates == 0)
            subject.worker?.signal(SIGTERM)
            #expect(try await subject.worker?.wait() == 0)
        }
    }
}
