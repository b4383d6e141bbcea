import Foundation
import TestSupport
import Testing

/// Holds the tables of the page Results against what workers write. The rig checks the other direction in every test:
/// each field that it reads is on the page.
@Suite struct ResultsPageTests {
    private static let hello = #"{"notification":{"title":"Hello"}}"#

    /// Three projects, one for each transport.
    private func configuration(_ rig: Rig) throws -> String {
        func state(_ name: String) throws -> String {
            try String(contentsOfFile: "\(rig.state.path)/\(name)", encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let endpoint = "endpoint: https://localhost:\(rig.tlsPort)"
        let text = """
            redis: { url: "unix://\(rig.redis.socketPath)" }
            tls: { ca_file: \(rig.state.path)/ca.pem }
            projects:
              demo:
                \(endpoint)
                iid_endpoint: https://localhost:\(rig.tlsPort)
                topic_api: v1
                credentials: \(rig.state.path)/service-account-demo.json
                sender_id: "\(try state("sender-id-demo"))"
              old:
                transport: legacy
                \(endpoint)
                server_key_file: \(rig.state.path)/server-key-old
                sender_id: "\(try state("sender-id-old"))"
              chat:
                transport: xmpp
                host: localhost
                port: \(rig.xmppPort)
                server_key_file: \(rig.state.path)/server-key-chat
                sender_id: "\(try state("sender-id-chat"))"
            """
        let path = rig.directory.appendingPathComponent("fanfare.yaml").path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// A send window that is open for the next hours, at any time of the day.
    private static var window: String {
        let hour = Int(Date().timeIntervalSince1970) / 3_600 % 24
        return (6..<18).contains(hour) ? "00:00-23:59 UTC" : "12:00-11:59 UTC"
    }

    /// Jobs that together have every field, by project. The group `trio` has a member that is not registered.
    private static let jobs: [String: [[String: String]]] = [
        "demo": [
            [
                "id": "all", "message": hello, "results": "all", "delivery": "replace",
                "tokens": Rig.tokens(["a", "sbx-lost-1-b", "sbx-invalid-c"]),
                "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "v=1",
            ],
            ["id": "fids", "message": hello, "fids": Rig.tokens(["fid1", "sbx-unregistered-fid"])],
            [
                "id": "topic", "message": hello, "topic": "news", "audience_size": "5", "priority": "7",
                "expires_at": "99999999999999", "not_before": "100000000000",
            ],
            ["id": "condition", "message": hello, "condition": "'a' in topics", "validate_only": "1"],
            [
                "id": "guarded", "message": hello, "recipients": #"[{"token":"a"}]"#, "rate": "1000", "canary": "1",
                "canary_wait_ms": "1000", "stop_if": "failed>5%", "send_window": window,
            ],
            ["id": "group", "op": "group.create", "group_name": "family", "tokens": Rig.tokens(["a"])],
            ["id": "topics", "op": "topic.list", "tokens": Rig.tokens(["a"])],
            ["id": "nobody", "message": hello, "audience": "aud:{demo}:none"],
            ["id": "bad", "message": hello, "token": "a", "priority": "12"],
        ],
        "old": [
            ["id": "replaced", "message": #"{"data":{}}"#, "format": "legacy", "token": "sbx-canonical-X"],
            ["id": "partly", "message": hello, "group": "trio"],
        ],
        "chat": [
            [
                "id": "asked", "format": "legacy", "token": "d-0",
                "message": #"{"data":{"k":"v"},"delivery_receipt_requested":true}"#,
            ]
        ],
    ]

    @Test func everyFieldOfThePageIsWritten() async throws {
        var written: [String: Set<String>] = [:]
        try await withRig(projects: ["demo", "old", "chat"]) { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try configuration(rig))
            let members = Rig.tokens(["well", "sbx-unregistered-gone"])
            _ = try await rig.control("POST", "/devices", #"{"group":"trio","members":\#(members)}"#)
            for (project, jobs) in Self.jobs {
                for job in jobs { try await rig.push(job, in: project) }
            }
            for (project, jobs) in Self.jobs {
                for job in jobs {
                    let hash = try await rig.finished(job["id"] ?? "", in: project)
                    written["hash", default: []].formUnion(hash.keys.map(WrittenFields.general))
                }
            }
            try await Wait.until("the receipt") { try await rig.length("upstream", in: "chat") > 0 }
            for project in Self.jobs.keys {
                for stream in ["feedback", "dead", "upstream"] {
                    for entry in try await rig.entries(stream, in: project) {
                        written[stream, default: []].formUnion(entry.keys.map(WrittenFields.general))
                    }
                }
                for entry in try await rig.entries("results", in: project) {
                    written["results entry", default: []].formUnion(entry.keys)
                    let names = try WrittenFields.names(ofResults: Array((entry["results"] ?? "").utf8))
                    written["results", default: []].formUnion(names)
                }
            }
        }
        // Gone with the job's end; see `JobPaceTests`.
        written["hash", default: []].insert("pace")
        // The evidence of a batch that crashed its workers; `QuarantineTests` compares it with the page.
        written["dead", default: []].formUnion(["batch", "crashes", "worker"])
        for (stream, fields) in written {
            let page = WrittenFields.tables[stream] ?? []
            #expect(page.subtracting(fields) == [], "\(stream): the page has fields of no entry")
            #expect(fields.subtracting(page) == [], "\(stream): the page lacks fields")
        }
        #expect(Set(written.keys) == Set(WrittenFields.tables.keys))
    }
}
