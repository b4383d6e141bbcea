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

    /// Prefixes of tokens that fail in every way that ends by itself. One token in 120 has each: more refusals would slow
    /// the project down, and over XMPP each lost answer closes a connection.
    private static let prefixes = [
        "sbx-unregistered-", "sbx-unavailable-1-", "sbx-quota-1-", "sbx-lost-1-", "sbx-slow-200-", "sbx-invalid-",
        "sbx-internal-1-",
    ]

    /// Pushes one job of a random kind.
    private func push(_ rig: Rig, _ number: Int, in project: String, _ random: inout SeededGenerator) async throws {
        func tokens(_ count: Int) -> [String] {
            (0..<count).map { index in
                let draw = Int(random.next() % (project == "xmpp" ? 400 : 120))
                return (draw < Self.prefixes.count ? Self.prefixes[draw] : "") + "\(number)-\(index)"
            }
        }
        // Plain text carries neither notifications nor topics.
        let isText = project == "text"
        func message(_ value: String) -> String {
            isText ? #"{"data":{"k":"\#(value)"}}"# : #"{"notification":{"title":"\#(value)"}}"#
        }
        var fields = ["id": "soak-\(number)", "message": message("t"), "results": "none"]
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        switch random.next() % 9 {
        case 0: fields["tokens"] = Rig.tokens(tokens(1_500))
        case 1: fields["tokens"] = Rig.tokens(tokens(60))
        case 2 where !isText: fields["topic"] = "news"
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
            fields["message"] = message("Hi {{name}}")
        case 7:
            fields["token"] = tokens(1)[0]
            fields["delivery"] = "at_most_once"
        default: fields["token"] = tokens(1)[0]
        }
        try await rig.push(fields, in: project)
    }

    /// Whether a project has few jobs, so that the load suits the speed of the machine.
    private func hasRoom(_ rig: Rig, _ project: String) async throws -> Bool {
        let open = try await rig.client.send(RedisCommand("SCARD", "fanfare:{\(project)}:jobs_open")).integer ?? 0
        return try await Int(open) + rig.length("jobs", in: project) < 12
    }

    /// An operator's act on a job: cancels it, or pauses and resumes it, or does nothing.
    private func operate(_ rig: Rig, _ job: String, in project: String, _ random: inout SeededGenerator) async throws {
        let keys = ProjectKeys(project: project)
        switch random.next() % 3 {
        case 0: _ = try await rig.client.send(FunctionLibrary.cancelEntry(keys, job: job))
        case 1:
            _ = try await rig.client.send(FunctionLibrary.pause(keys, job: job))
            _ = try await rig.client.send(FunctionLibrary.resume(keys, job: job))
        default: break
        }
    }

    /// Ends the last fault and begins another, which affects at most 20 requests.
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
        try await endFaults(rig)
        _ = try await rig.addFault(#"{"match":{"path":"\#(path)"},"action":\#(action),"times":20}"#)
    }

    private func endFaults(_ rig: Rig) async throws {
        for id in try await rig.faultHits().keys { _ = try await rig.control("DELETE", "/faults?id=\(id)") }
    }

    /// Keys of a project that stay, after its base: public streams, and what is known of the project and its workers.
    private static let lastingKeys: Set<String> = [
        "jobs", "results", "feedback", "dead", "upstream", "events", "leases", "links", "connections", "news",
        "refused",
        "rates", "rated", "about", "history", "recorded", "marks", "audit", "finished", "tally", "answers", "ctl",
    ]

    /// The other keys that have no TTL, and names of workers in hashes of the living ones.
    private func leftovers(_ rig: Rig, workers: Int) async throws -> [String] {
        var left: [String] = []
        for project in Self.projects {
            let base = "fanfare:{\(project)}:"
            for key in (try await rig.client.send(RedisCommand("KEYS", base + "*")).array ?? []).compactMap(\.string) {
                guard !Self.lastingKeys.contains(String(key.dropFirst(base.count))) else { continue }
                if try await rig.client.send(RedisCommand("PTTL", key)).integer == -1 { left.append(key) }
            }
            for name in ["leases", "links", "connections", "about", "recorded"] {
                let count = try await rig.client.send(RedisCommand("HLEN", base + name)).integer ?? 0
                if count > workers { left.append("\(base)\(name) with \(count) workers") }
            }
        }
        return left
    }

    /// Waits until no project has a job that is not over. An operator replays parked ones: three kills in a row park a
    /// batch.
    private func waitForTheEndOfAllJobs(_ rig: Rig, _ configuration: String) async throws {
        var open: [String] = []
        try await Wait.until("all jobs to be over; open: \(open.prefix(20))\n\(rig.logs)", seconds: 300, everyMs: 2_000)
        {
            open = []
            for project in Self.projects {
                let base = "fanfare:{\(project)}:"
                func members(_ key: String) async throws -> [String] {
                    (try await rig.client.send(RedisCommand("SMEMBERS", base + key)).array ?? []).compactMap(\.string)
                }
                let parked = try await members("jobs_parked")
                for job in parked { try await rig.fanfare(configuration, ["dead", "replay", job], in: project) }
                open += try await (members("jobs_open") + parked).map { "\(project)/\($0)" }
                if try await rig.length("jobs", in: project) > 0 { open.append("\(project)/jobs") }
            }
            return open.isEmpty
        }
    }

    @Test func nothingOfAJobIsLeftWhenAllJobsAreOver() async throws {
        var random = SeededGenerator(seed: 2_026)
        try await withRig(projects: Self.projects) { rig in
            try await rig.startSandbox(["--quota-per-minute", "100000000"])
            _ = try await rig.control("POST", "/devices", #"{"topic":"news","subscribers":2000}"#)
            let configuration = try write(try configuration(rig), rig)
            print("soak: Redis \(rig.redis.socketPath), configuration \(configuration)")
            var workers = [try await rig.startWorker(configuration), try await rig.startWorker(configuration)]
            let begun = ContinuousClock.now
            let end = begun + .seconds(Self.seconds)
            var (nextFault, nextKill) = (begun, begun + .seconds(20))
            var (jobs, kills, turn) = ([String](), 0, 0)
            while ContinuousClock.now < end {
                turn += 1
                let project = Self.projects[turn % Self.projects.count]
                if try await hasRoom(rig, project) {
                    try await push(rig, jobs.count, in: project, &random)
                    jobs.append(project)
                    if jobs.count % 13 == 0 { try await operate(rig, "soak-\(jobs.count - 1)", in: project, &random) }
                }
                if ContinuousClock.now > nextFault {
                    try await disturb(rig, &random)
                    nextFault += .milliseconds(Int64(2_000 + random.next() % 8_000))
                }
                if ContinuousClock.now > nextKill {
                    workers.removeFirst().signal(SIGKILL)
                    workers.append(try await rig.startWorker(configuration))
                    kills += 1
                    nextKill = .now + .milliseconds(Int64(5_000 + random.next() % 40_000))
                }
                try await Task.sleep(for: .milliseconds(100))
            }
            let during = try workers.map { try Footprint($0.pid) }
            try await endFaults(rig)
            try await waitForTheEndOfAllJobs(rig, configuration)
            var (ends, open): ([String: Int], [String]) = ([:], [])
            for (number, project) in jobs.enumerated() {
                let hash = try await rig.job("soak-\(number)", in: project)
                let state = hash["state"] ?? "none"
                let counts = ["sent", "failed", "unknown", "cancelled", "expired"].compactMap { Int(hash[$0] ?? "") }
                if !Rig.finalStates.contains(state) || counts.reduce(0, +) != Int(hash["total"] ?? "") {
                    open.append("\(project)/soak-\(number) \(hash)")
                }
                ends[project + " " + state, default: 0] += 1
            }
            let left = try await leftovers(rig, workers: workers.count)
            print("soak: " + ends.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
            print(
                "soak: \(jobs.count) jobs over four transports in \(Int(Self.seconds)) s, \(kills) kills, workers \(during); "
                    + "left without a TTL afterwards: \(left.count)"
            )
            #expect(open.isEmpty, "\(open.prefix(40))")
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
                for project in Self.projects where try await hasRoom(rig, project) {
                    try await push(rig, number, in: project, &random)
                    number += 1
                }
            }
            for _ in 0..<20 { try await load() }
            try await waitForTheEndOfAllJobs(rig, path)
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
            try await waitForTheEndOfAllJobs(rig, path)
            // Connections of projects that were reloaded are closed once they are idle.
            try await Task.sleep(for: .seconds(30))
            let after = try Footprint(worker.pid)
            print("reload churn: \(reloads) reloads; before \(before), after \(after)")
            #expect(after.descriptors <= before.descriptors + 16)
            #expect(after.residentMB <= before.residentMB + 40)
        }
    }
}
