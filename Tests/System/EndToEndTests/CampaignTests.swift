import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Personal jobs and their guards, through a worker and the sandbox's devices.
@Suite struct CampaignTests {
    private static let message = #"{"notification":{"title":"Hello {{name}}","body":"{{count|no}} news"}}"#
    private static let variants = #"{"es":{"notification":{"title":"Hola {{name}}"}}}"#
    private static let recipients = """
        [{"token":"one","vars":{"name":"Ana \\"A\\" \\u00e9","count":3}},
         {"token":"sbx-apple-two","vars":{"name":"Bo"},"variant":"es-MX"},
         {"token":"sbx-web-three","vars":{"name":"Cy","count":true},"variant":"fr"},
         {"token":"one","vars":{"name":"Again"}},
         {"token":"sbx-unavailable-1-four","vars":{"name":"Di"}},
         {"token":"five"},
         {"token":"six","vars":{"name":["x"]}}]
        """

    /// The texts that a device got.
    private struct Shown: Decodable {
        struct Payload: Decodable {
            var notification: Alert?
            var aps: Aps?
        }
        struct Aps: Decodable { var alert: Alert }
        struct Alert: Decodable, Equatable {
            var title: String
            var body: String?
        }
        var payload: Payload
        var alert: Alert? { payload.notification ?? payload.aps?.alert }
    }

    private func shown(_ token: String, _ rig: Rig) async throws -> [String] {
        try await rig.deliveries(token).map { line in
            let alert = try JSONDecoder().decode(Shown.self, from: Data(line.utf8)).alert
            return "\(alert?.title ?? "?")/\(alert?.body ?? "?")"
        }
    }

    @Test(arguments: ["v1", "legacy", "xmpp"])
    func eachDeviceGetsItsOwnText(transport: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let settings = transport == "xmpp" ? try rig.xmppSettings : ""
            try await rig.startWorker(try rig.configuration(transport: transport, project: settings))
            try await rig.push([
                "id": "c", "recipients": Self.recipients, "message": Self.message, "variants": Self.variants,
            ])
            let job = try await rig.finished("c")
            #expect(job["sent"] == "5" && job["failed"] == "2", "\(job)")
            #expect(try await shown("one", rig).sorted() == ["Hello Again/no news", "Hello Ana \"A\" é/3 news"])
            #expect(try await shown("sbx-apple-two", rig) == ["Hola Bo/no news"])
            #expect(try await shown("sbx-web-three", rig) == ["Hello Cy/true news"])
            #expect(try await shown("sbx-unavailable-1-four", rig) == ["Hello Di/no news"])
            #expect(try await shown("five", rig).isEmpty)
            #expect(try await shown("six", rig).isEmpty)
            let results = try await rig.results("c").sorted { $0.i < $1.i }
            #expect(
                results.map(\.token) == [
                    "one", "sbx-apple-two", "sbx-web-three", "one", "sbx-unavailable-1-four", "five", "six",
                ]
            )
            #expect(results[4].attempts == 2 && results[4].status == "sent")
            #expect(results[5].raw_error == "vars.name: missing" && results[5].action == "fix_message")
            #expect(results[6].raw_error == "vars.name: must be a string, a number or a boolean, not an array")
        }
    }

    /// Legacy plain text carries data only.
    @Test func plainTextCarriesValuesAsForms() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "legacy", project: "legacy_body: text"))
            try await rig.push([
                "id": "c", "recipients": #"[{"token":"one","vars":{"name":"Ana & Bo=+%"}}]"#, "format": "legacy",
                "message": #"{"data":{"text":"Hi {{name}}"}}"#,
            ])
            #expect(try await rig.finished("c")["sent"] == "1")
            #expect(try await rig.deliveries("one").first?.contains(#""text":"Hi Ana & Bo=+%""#) == true)
        }
    }

    /// One row in ten is bad in a way of its own: it fails by name without a send, and the rest goes out.
    @Test func badRowsOfAnAudienceFailAlone() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let many = (0..<33).map { #""n\#($0)":1"# }.joined(separator: ",")
            let bad = [
                #"{"token":"x","vars":{}}"#,
                #"{"token":"x","vars":{"name":"\#(String(repeating: "v", count: 2_048))"}}"#,
                #"{"token":"x","vars":{"name":"a","\#(String(repeating: "n", count: 40))":1}}"#,
                #"{"token":"x","vars":{\#(many)}}"#, #"{"token":"a b","vars":{"name":"x"}}"#, "no JSON", "",
                #"{"token":"x","vars":{"name":"a","name":"b"}}"#, #"{"token":"x","extra":1}"#, #"{"vars":{}}"#,
            ]
            var command = RedisCommand("RPUSH", "people:{demo}:1")
            for index in 0..<2_000 {
                command.append(
                    index % 10 == 7
                        ? bad[index / 10 % bad.count] : #"{"token":"t\#(index)","vars":{"name":"N\#(index)"}}"#
                )
            }
            _ = try await rig.client.send(command)
            try await rig.startWorker(try rig.configuration())
            try await rig.push([
                "id": "c", "audience": "people:{demo}:1", "audience_format": "json", "message": Self.message,
                "results": "all",
            ])
            let job = try await rig.finished("c")
            #expect(job["sent"] == "1800" && job["failed"] == "200", "\(job)")
            #expect(try await rig.stats().sends == 1_800)
            #expect(try await shown("t8", rig) == ["Hello N8/no news"])
            let failed = try await rig.results("c").filter { $0.status == "failed" }.sorted { $0.i < $1.i }
            #expect(
                failed.prefix(10).map(\.raw_error) == [
                    "vars.name: missing", "vars.name: 2048 bytes, at most 1024",
                    "vars: the name at index 1 is not [A-Za-z_][A-Za-z0-9_]{0,31}", "vars: more than 32 names",
                    "not a registration token", "not JSON at byte 0: unexpected character where a value should be",
                    "not JSON at byte 0: the text ends where a value should be", "vars.name: given more than once",
                    "extra: unknown field", "needs a token or a fid",
                ]
            )
        }
    }

    @Test(arguments: [
        (
            #"{"android":{"collapse_key":"{{name}}"}}"#,
            "message.android.collapse_key: a placeholder is not allowed here"
        ),
        (#"{"data":{"{{name}}":"x"}}"#, "message.data.{{name}}: a placeholder is not allowed in a name"),
    ])
    func placeholderElsewhereRejectsTheJob(message: String, reason: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            try await rig.push(["id": "c", "recipients": #"[{"token":"one"}]"#, "message": message])
            let job = try await rig.finished("c")
            #expect(job["state"] == "rejected" && job["reason"] == reason, "\(job)")
        }
    }

    /// Three workers, of which any may record the step that pauses the job.
    @Test func stopIfPausesTheFleet() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            // Slow answers: many sends are in flight when the condition holds.
            _ = try await rig.control("POST", "/faults", #"{"match":{"path":"/v1/"},"action":{"delay_ms":50}}"#)
            var command = RedisCommand("RPUSH", "people:{demo}:1")
            for index in 0..<30_000 { command.append(index % 20 == 0 ? "sbx-unregistered-\(index)" : "t\(index)") }
            _ = try await rig.client.send(command)
            let (inFlight, window) = (100, 64)
            let configuration = try rig.configuration(worker: "max_in_flight: \(inFlight), watermark_step: \(window)")
            for _ in 0..<3 { try await rig.startWorker(configuration) }
            try await rig.push([
                "id": "c", "audience": "people:{demo}:1", "message": #"{"data":{"a":"b"}}"#,
                "stop_if": "unregistered>3%",
            ])
            var job: [String: String] = [:]
            try await Wait.until("the pause; \(job)\n\(rig.logs)", seconds: 60, everyMs: 5) {
                job = try await rig.job("c")
                return job["state"] == "paused"
            }
            let atPause = try await rig.stats().sends
            #expect(job["reason"]?.hasPrefix("stop_if: unregistered 5") == true, "\(job)")
            try await Wait.until("the end of what was in flight", seconds: 30) {
                let before = try await rig.stats().sends
                try await Task.sleep(for: .milliseconds(500))
                return try await rig.stats().sends == before
            }
            let after = try await rig.stats().sends - atPause
            // Every worker's sends in flight, and the watermark of each batch that it holds.
            #expect(after <= 3 * (inFlight + 4 * window), "\(after) sends after the pause")
            #expect(try await rig.state(configuration) == "waiting: 1 job stopped itself")
            try await rig.fanfare(configuration, ["job", "resume", "c"])
            try await Wait.until("the second pause", seconds: 60, everyMs: 20) {
                let (sends, state) = (try await rig.stats().sends, try await rig.job("c")["state"])
                return sends > atPause + after + 900 && state == "paused"
            }
            try await rig.fanfare(configuration, ["job", "cancel", "c"])
            try await rig.finished("c")
            #expect(try await rig.stats().duplicates == 0)
        }
    }

    @Test func canaryWaitsForResumeOrItsTime() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            for _ in 0..<2 { try await rig.startWorker(configuration) }
            let tokens = Rig.tokens((0..<2_500).map { $0 == 3 ? "sbx-unavailable-1-t" : "t\($0)" })
            for (id, wait) in [("by-hand", nil), ("by-time", "1500")] {
                var fields = ["id": id, "tokens": tokens, "message": #"{"data":{"a":"b"}}"#, "canary": "1200"]
                fields["canary_wait_ms"] = wait
                try await rig.push(fields)
                try await Wait.until("the canary's pause\n\(rig.logs)", seconds: 60) {
                    let job = try await rig.job(id)
                    return job["state"] == "paused" && job["reason"] == "canary"
                }
                let job = try await rig.job(id)
                let sent = Int(job["sent"] ?? "") ?? 0
                #expect(sent == 1_199 || sent == 1_200, "\(job)")
                if wait == nil {
                    #expect(try await rig.state(configuration) == "waiting: 1 job at a canary")
                    try await rig.fanfare(configuration, ["job", "resume", id])
                }
                #expect(try await rig.finished(id)["sent"] == "2500")
            }
            #expect(try await rig.stats().duplicates == 2_500, "the second job's sends, and no others")
            #expect(!rig.hasLogged("A batch was taken over"), "no worker died")
        }
    }

    /// Outside its window a job waits, and says until when.
    @Test func closedWindowHoldsTheJob() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            let now = Int(Date().timeIntervalSince1970)
            func clock(_ hours: Int) -> String {
                let minutes = (now / 60 + hours * 60) % 1_440
                return String(format: "%02d:%02d", minutes / 60, minutes % 60)
            }
            let fields = ["token": "one", "message": #"{"data":{"a":"b"}}"#]
            try await rig.push(
                fields.merging(["id": "closed", "send_window": "\(clock(2))-\(clock(4)) Etc/UTC"]) { $1 }
            )
            try await rig.push(
                fields.merging(["id": "open", "send_window": "\(clock(22))-\(clock(2)) Etc/UTC"]) { $1 }
            )
            try await rig.push(fields.merging(["id": "lost", "send_window": "09:00-10:00 Mars/Olympus"]) { $1 })
            #expect(try await rig.finished("open")["sent"] == "1")
            #expect(
                try await rig.finished("lost")["reason"]
                    == "send_window: the zone Mars/Olympus is not in /usr/share/zoneinfo: correct its name, or install tzdata"
            )
            try await Wait.until("the reason") { try await rig.job("closed")["reason"] != nil }
            #expect(try await rig.state(configuration) == "waiting: 1 job outside a send window")
            let job = try await rig.job("closed")
            #expect(job["state"] == "waiting" && job["reason"]?.hasPrefix("send_window: opens at ") == true, "\(job)")
            #expect(try await rig.stats().sends == 1)
        }
    }
}
