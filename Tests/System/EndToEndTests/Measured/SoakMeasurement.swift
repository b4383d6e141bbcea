import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Runs a fleet for a long time and looks at what is left: keys without a TTL, memory and descriptors. Takes 20 minutes
/// (`FANFARE_SOAK_SECONDS`), so only `ops/measure soak` runs it.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["FANFARE_MEASURE"] != nil))
struct SoakMeasurement {
    private static let projects = ["v1", "legacy", "text", "xmpp"]
    private static let seconds =
        ProcessInfo.processInfo.environment["FANFARE_SOAK_SECONDS"].flatMap { Double($0) } ?? 1_200

    /// Memory and descriptors of a process.
    private struct Footprint: CustomStringConvertible {
        let residentMB: Int
        let descriptors: Int

        init(_ pid: Int32) throws {
            let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
            residentMB = (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1_024
            descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
        }

        var description: String { "\(residentMB) MB, \(descriptors) descriptors" }
    }

    /// A configuration with one project for each transport.
    private func configuration(_ rig: Rig, quota: Int = 600_000, engine: String = "curl") throws -> String {
        func settings(_ project: String) throws -> String {
            let key = "server_key_file: \(rig.state.path)/server-key-\(project)"
            let endpoint = "endpoint: https://localhost:\(rig.tlsPort)"
            switch project {
            case "legacy": return "transport: legacy, \(endpoint), \(key), http_engine: \(engine)"
            case "text": return "transport: legacy, legacy_body: text, \(endpoint), \(key)"
            case "xmpp":
                let sender = try String(contentsOfFile: "\(rig.state.path)/sender-id-xmpp", encoding: .utf8)
                    .trimmingCharacters(in: .whitespacesAndNewlines)
                return "transport: xmpp, host: localhost, port: \(rig.xmppPort), sender_id: \"\(sender)\", \(key)"
            default:
                return "\(endpoint), credentials: \(rig.state.path)/service-account-v1.json, http_engine: \(engine)"
            }
        }
        let lines = try Self.projects.map { "  \($0): { \(try settings($0)), quota_per_minute: \(quota) }" }
        return """
            redis: { url: "unix://\(rig.redis.socketPath)" }
            projects:
            \(lines.joined(separator: "\n"))
            tls: { ca_file: \(rig.state.path)/ca.pem }
            worker: { lease_ms: 3000, renew_ms: 600 }
            """
    }

    private func write(_ text: String, _ rig: Rig) throws -> String {
        let path = rig.directory.appendingPathComponent("soak.yaml")
        try text.write(to: path, atomically: true, encoding: .utf8)
        return path.path
    }

    /// One job of a kind that the number chooses; tokens fail in every way that ends by itself.
    private func push(_ rig: Rig, _ number: Int, in project: String, _ random: inout SeededGenerator) async throws {
        let prefixes = [
            "", "", "", "sbx-unregistered-", "sbx-unavailable-1-", "sbx-quota-1-", "sbx-lost-1-", "sbx-slow-200-",
            "sbx-invalid-", "sbx-internal-2-",
        ]
        func tokens(_ count: Int) -> [String] {
            (0..<count).map { prefixes[Int(random.next() % UInt64(prefixes.count))] + "\(number)-\($0)" }
        }
        var fields = ["id": "soak-\(number)", "message": #"{"notification":{"title":"t"}}"#, "results": "none"]
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        switch random.next() % 9 {
        case 0: fields["tokens"] = Rig.tokens(tokens(1_500))
        case 1: fields["tokens"] = Rig.tokens(tokens(60))
        case 2: fields["topic"] = "news"
        case 3:
            fields["tokens"] = Rig.tokens(tokens(20))
            fields["not_before"] = "\(now + 2_000)"
        case 4:
            fields["tokens"] = Rig.tokens(tokens(40))
            fields["expires_at"] = "\(now + 1_500)"
        case 5:
            fields["tokens"] = Rig.tokens(tokens(1_200))
            fields["canary"] = "50"
            fields["canary_wait_ms"] = "3000"
            fields["rate"] = "60000"
        case 6:
            let list = tokens(80).map { #"{"token":"\#($0)","vars":{"name":"Ana"}}"# }
            fields["recipients"] = "[" + list.joined(separator: ",") + "]"
            fields["message"] = #"{"notification":{"title":"Hi {{name}}"}}"#
        case 7:
            fields["token"] = tokens(1)[0]
            fields["delivery"] = "at_most_once"
        default: fields["token"] = tokens(1)[0]
        }
        try await rig.push(fields, in: project)
    }

    private func disturb(_ rig: Rig, _ random: inout SeededGenerator) async throws {
        let http = [
            #"{"status":503,"retry_after":"1"}"#, #"{"status":500}"#, #"{"html":502}"#, #"{"html":403}"#,
            #"{"reset":"CANCEL"}"#, #"{"refuse_stream":true}"#, #"{"goaway":"NO_ERROR"}"#, #"{"close":true}"#,
            #"{"truncate":10}"#, #"{"delay_ms":300}"#,
        ]
        let xmpp = [#"{"nack":"SERVICE_UNAVAILABLE"}"#, #"{"draining":true}"#, #"{"close":true}"#]
        let isXMPP = random.next() % 3 == 0
        let actions = isXMPP ? xmpp : http
        let path = isXMPP ? "xmpp" : random.next() % 2 == 0 ? "/v1/" : "/fcm/send"
        let action = actions[Int(random.next() % UInt64(actions.count))]
        _ = try await rig.addFault(#"{"match":{"path":"\#(path)"},"action":\#(action),"times":20}"#)
    }

    /// The private keys that have no TTL and name a job, by kind.
    private func keysWithoutTTL(_ rig: Rig) async throws -> [String] {
        var left: [String] = []
        for project in Self.projects {
            let base = "fanfare:{\(project)}:"
            for key in (try await rig.client.send(RedisCommand("KEYS", base + "*")).array ?? []).compactMap(\.string) {
                let name = key.dropFirst(base.count)
                guard name.contains("soak-") else { continue }
                if try await rig.client.send(RedisCommand("PTTL", key)).integer == -1 { left.append(key) }
            }
        }
        return left
    }

    @Test func nothingOfAJobIsLeftWhenAllJobsAreOver() async throws {
        var random = SeededGenerator(seed: 2_026)
        try await withRig(projects: Self.projects) { rig in
            try await rig.startSandbox(["--quota-per-minute", "100000000"])
            _ = try await rig.control("POST", "/devices", #"{"topic":"news","subscribers":2000}"#)
            let configuration = try write(try configuration(rig), rig)
            var workers = [try await rig.startWorker(configuration), try await rig.startWorker(configuration)]
            let begun = ContinuousClock.now
            var (jobs, kills, turn) = (0, 0, 0)
            while begun.duration(to: .now) < .seconds(Self.seconds) {
                turn += 1
                let project = Self.projects[turn % Self.projects.count]
                try await push(rig, jobs, in: project, &random)
                jobs += 1
                if turn % 40 == 0 { try await disturb(rig, &random) }
                if turn % 13 == 0 {
                    let id = "soak-\(jobs - 1)"
                    switch random.next() % 3 {
                    case 0: try await rig.fanfare(configuration, ["job", "cancel", id], in: project)
                    case 1:
                        let keys = ProjectKeys(project: project)
                        _ = try await rig.client.send(FunctionLibrary.pause(keys, job: id))
                        _ = try await rig.client.send(FunctionLibrary.resume(keys, job: id))
                    default: break
                    }
                }
                if turn % 150 == 0 {
                    workers.removeFirst().signal(SIGKILL)
                    workers.append(try await rig.startWorker(configuration))
                    kills += 1
                }
                try await Task.sleep(for: .milliseconds(150))
            }
            let during = try workers.map { try Footprint($0.pid) }
            for id in try await rig.faultHits().keys { _ = try await rig.control("DELETE", "/faults?id=\(id)") }
            var open: [String] = []
            try await Wait.until("all jobs to be over; open: \(open)\n\(rig.logs)", seconds: 900, everyMs: 2_000) {
                open = []
                for number in 0..<jobs {
                    let project = Self.projects[(number + 1) % Self.projects.count]
                    let state = try await rig.job("soak-\(number)", in: project)["state"] ?? "untaken"
                    if !Rig.finalStates.contains(state) { open.append("\(project)/soak-\(number) \(state)") }
                }
                if open.count < 10 { print("soak: open \(open)") }
                // A batch that was held by three killed workers in a row may be parked: an operator replays it.
                for job in open where job.hasSuffix("parked") {
                    let parts = job.split(whereSeparator: { $0 == "/" || $0 == " " }).map(String.init)
                    _ = try? await rig.fanfare(configuration, ["dead", "replay", parts[1]], in: parts[0])
                }
                return open.isEmpty
            }
            let left = try await keysWithoutTTL(rig)
            print(
                "soak: \(jobs) jobs over four transports in \(Int(Self.seconds)) s, \(kills) kills, workers \(during); "
                    + "keys of jobs without a TTL afterwards: \(left.count)"
            )
            #expect(left.isEmpty, "\(left.prefix(40))")
        }
    }

    /// Reloads for a tenth of the soak's time: quotas, engines, projects that go and come back.
    @Test func reloadsLeaveNeitherMemoryNorDescriptors() async throws {
        try await withRig(projects: Self.projects) { rig in
            try await rig.startSandbox(["--quota-per-minute", "100000000"])
            let path = try write(try configuration(rig), rig)
            let worker = try await rig.startWorker(path)
            var random = SeededGenerator(seed: 7)
            var number = 0
            func load() async throws {
                for project in Self.projects {
                    try await push(rig, number, in: project, &random)
                    number += 1
                }
            }
            for _ in 0..<20 { try await load() }
            try await Task.sleep(for: .seconds(10))
            let before = try Footprint(worker.pid)
            let begun = ContinuousClock.now
            var reloads = 0
            while begun.duration(to: .now) < .seconds(Self.seconds / 10) {
                var text = try configuration(
                    rig,
                    quota: 100_000 + 10_000 * (reloads % 7),
                    engine: reloads % 2 == 0 ? "curl" : "nghttp2"
                )
                if reloads % 3 == 0 {
                    text = text.split(separator: "\n").filter { !$0.hasPrefix("  text:") }.joined(separator: "\n")
                }
                _ = try write(text, rig)
                worker.signal(SIGHUP)
                reloads += 1
                try await load()
                try await Task.sleep(for: .milliseconds(300))
            }
            _ = try write(try configuration(rig), rig)
            worker.signal(SIGHUP)
            try await Task.sleep(for: .seconds(30))
            let after = try Footprint(worker.pid)
            print("reload churn: \(reloads) reloads; before \(before), after \(after)")
            #expect(after.descriptors <= before.descriptors + 16)
            #expect(after.residentMB <= before.residentMB + 40)
        }
    }
}
