import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

extension RunningGateway {
    /// A key that may only read.
    fileprivate var reader: String { keys[1] }
    /// A key of another project.
    fileprivate var stranger: String { keys[2] }
}

/// Fanfare's own API of a gateway before a worker and the sandbox, as its clients see it.
@Suite struct GatewayAPITests {
    private static let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"]

    private struct Answer {
        var status = 0
        /// Names in lower case.
        var headers: [String: String] = [:]
        var body = ""

        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any] ?? [:]
        }

        func objects(_ name: String) -> [[String: Any]] { json[name] as? [[String: Any]] ?? [] }

        var lines: [[String: Any]] {
            body.split(separator: "\n").compactMap {
                (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any]
            }
        }
    }

    private func withGateway(
        _ settings: String = "",
        _ body: (Rig, RunningGateway) async throws -> Void
    ) async throws {
        let keys = [
            ["all", "--project", "demo", "--rights", "push,read,operate"],
            ["reader", "--project", "demo", "--rights", "read"],
            ["stranger", "--project", "other", "--rights", "push,read,operate"],
        ]
        let settings = ", behind_proxy: true" + settings
        try await EndToEndTests.withGateway(settings, projects: ["demo", "other"], keys: keys, body)
    }

    /// - Parameters:
    ///   - path: below the project's, or a whole one.
    ///   - key: that of all rights unless said; empty for none.
    ///   - port: of another gateway.
    private func call(
        _ gateway: RunningGateway,
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        key: String? = nil,
        headers: [String] = [],
        port: Int? = nil
    ) async throws -> Answer {
        let path = path.hasPrefix("/") ? path : "/v1/projects/demo/\(path)"
        var arguments = ["--silent", "--show-error", "--include", "--max-time", "90", "--request", method]
        let key = key ?? gateway.key
        if !key.isEmpty { arguments += ["--header", "Authorization: Bearer \(key)"] }
        if let body {
            let hasType = headers.contains { $0.hasPrefix("Content-Type") }
            arguments += hasType ? [] : ["--header", "Content-Type: application/json"]
            arguments += ["--data-binary", body]
        }
        for header in headers { arguments += ["--header", header] }
        let process = try ChildProcess(
            arguments + ["http://127.0.0.1:\(port ?? gateway.port)\(path)"],
            executable: URL(fileURLWithPath: "/usr/bin/curl")
        )
        try #require(try await process.wait(seconds: 120) == 0, "\(method) \(path): \(process.stderr)")
        let text = process.stdout
        let end = try #require(text.range(of: "\r\n\r\n"), "\(text)")
        let head = text[..<end.lowerBound].components(separatedBy: "\r\n")
        var answer = Answer(status: Int(head[0].split(separator: " ")[1]) ?? 0, body: String(text[end.upperBound...]))
        for line in head.dropFirst() {
            let sides = line.components(separatedBy: ": ")
            answer.headers[sides[0].lowercased()] = sides.dropFirst().joined(separator: ": ")
        }
        return answer
    }

    private func job(_ tokens: [String], _ more: String = "") -> String {
        "{\"message\":{\"data\":{\"a\":\"b\"}},\"tokens\":\(Rig.tokens(tokens))\(more)}"
    }

    /// Checks the form of a refusal.
    private func expect(_ answer: Answer, is status: Int, _ detail: String? = nil, at pointer: String? = nil) {
        #expect(answer.status == status && answer.json["status"] as? Int == status, "\(answer)")
        #expect(answer.headers["content-type"] == "application/problem+json", "\(answer)")
        let text = answer.json["detail"] as? String ?? ""
        #expect(!text.isEmpty && text.contains(detail ?? text), "\(answer)")
        if let pointer { #expect(answer.objects("errors").first?["pointer"] as? String == pointer, "\(answer)") }
    }

    @Test func jobsArePushedAwaitedAndRead() async throws {
        try await withGateway { rig, gateway in
            let tokens = ["a", "sbx-unregistered-b", "c", "d", "e"]
            let ended = try await call(gateway, "POST", "jobs?wait=30000", job(tokens))
            #expect(ended.status == 200 && ended.json["state"] as? String == "done", "\(ended)")
            #expect(ended.objects("results").count == 5 && ended.json["failed"] as? Int == 1, "\(ended)")
            let single = try await call(gateway, "POST", "jobs?wait=30000", #"{"message":{"data":{}},"token":"f"}"#)
            #expect(single.objects("results").first?["message_id"] as? String != nil, "\(single)")

            let pushed = try await call(gateway, "POST", "jobs", job(tokens, ",\"id\":\"news:42\""))
            #expect(pushed.status == 202 && pushed.json["id"] as? String == "news:42", "\(pushed)")
            #expect(pushed.headers["x-fanfare-job"] == "news:42")
            try await rig.finished("news:42")
            let location = try #require(pushed.headers["location"])
            let read = try await call(gateway, "GET", location, key: gateway.reader)
            #expect(read.json["state"] as? String == "done" && read.json["sent"] as? Int == 4, "\(read)")

            // Pages of two, without the job's last results twice.
            var indices: [Int] = []
            var after = ""
            for _ in 0..<10 {
                let page = try await call(gateway, "GET", "\(location)/results?limit=2\(after)")
                #expect(page.status == 200 && page.objects("results").count <= 2, "\(page)")
                indices += page.objects("results").compactMap { $0["i"] as? Int }
                guard let next = page.json["next"] as? String else { break }
                after = "&after=\(next)"
            }
            #expect(indices.sorted() == [0, 1, 2, 3, 4])
            let failed = try await call(gateway, "GET", "\(location)/results?status=failed").objects("results")
            #expect(failed.count == 1 && failed[0]["error"] as? String == "UNREGISTERED", "\(failed)")

            let list = try await call(gateway, "GET", "jobs?over=1&limit=1")
            #expect(list.objects("jobs").count == 1 && list.json["whole"] as? Bool == false, "\(list)")
            let feedback = try await call(gateway, "GET", "feedback?limit=1")
            #expect(feedback.objects("entries").first?["action"] as? String == "remove", "\(feedback)")
            let next = try #require(feedback.json["next"] as? String)
            let rest = try await call(gateway, "GET", "feedback?after=\(next)")
            #expect(rest.objects("entries").count == 1 && rest.json["next"] as? String != next, "\(rest)")
        }
    }

    @Test func resultsComeAsLines() async throws {
        try await withGateway { rig, gateway in
            let tokens = (0..<2_500).map { "line-\($0)" }
            let pushed = try await call(gateway, "POST", "jobs", job(tokens, ",\"results\":\"all\",\"id\":\"lines\""))
            #expect(pushed.status == 202, "\(pushed)")
            try await rig.finished("lines")
            let ndjson = ["Accept: application/x-ndjson"]
            let all = try await call(gateway, "GET", "jobs/lines/results", headers: ndjson)
            #expect(all.headers["content-type"] == "application/x-ndjson" && all.lines.count == 2_500)
            #expect(Set(all.lines.compactMap { $0["i"] as? Int }).count == 2_500)
            // A client whose connection broke continues after the last line that it read.
            let cursor = try #require(all.lines[1_699]["cursor"] as? String)
            let rest = try await call(gateway, "GET", "jobs/lines/results?after=\(cursor)", headers: ndjson)
            #expect(rest.lines.map { $0["i"] as? Int } == all.lines[1_700...].map { $0["i"] as? Int })
            let few = try await call(gateway, "GET", "jobs/lines/results?limit=3&after=\(cursor)", headers: ndjson)
            #expect(few.lines.count == 3)
        }
    }

    @Test func requestsThatBreakARuleAreRefusedWithItsPlace() async throws {
        try await withGateway { rig, gateway in
            func push(_ body: String, _ query: String = "", _ headers: [String] = []) async throws -> Answer {
                try await call(gateway, "POST", "jobs\(query)", body, headers: headers)
            }
            let checked = try await push(job(["a", "b"]), "?check=1")
            #expect(checked.status == 200 && checked.json["recipients"] as? Int == 2, "\(checked)")
            expect(try await push(#"{"message":"#), is: 400, "not JSON at byte 11")
            expect(try await push(#"{"token":"a","token":"b"}"#), is: 422, "more than once", at: "/token")
            let twice = #"{"token":"a","message":{"data":{"a":"b","a":"c"}}}"#
            expect(try await push(twice), is: 422, "message.data.a", at: "/message/data/a")
            expect(try await push(#"{"token":"a","colour":"b"}"#), is: 422, "unknown field", at: "/colour")
            expect(try await push(#"{"message":{},"tokens":["a","b c"]}"#), is: 422, at: "/tokens/1")
            expect(try await push(#"{"message":{"data":{"a":1}},"token":"a"}"#), is: 422, at: "/message/data/a")
            expect(try await push(#"{"message":{},"priority":"5","token":"a"}"#), is: 422, at: "/priority")
            expect(try await push("{}"), is: 422, "exactly one of", at: "")
            expect(try await push("[]"), is: 422, at: "")
            expect(try await push(job(["a"]), "?chek=1"), is: 400, "chek: unknown parameter")
            expect(try await push(job(["a"]), "?wait=60001"), is: 400, "wait")
            expect(try await push(job((0...1_000).map { "t\($0)" }), "?wait=1"), is: 422, "not 1001")
            expect(try await push(job(["a"]), "", ["Content-Type: text/plain"]), is: 415)
            expect(try await push(job(["a"]), "", ["Accept: text/html"]), is: 406)
            expect(try await push(job(["a"], ",\"id\":\"a\""), "", ["Idempotency-Key: b"]), is: 422, at: "/id")

            expect(try await call(gateway, "GET", "jobs/none"), is: 404)
            expect(try await call(gateway, "GET", "jobs/none/results"), is: 404)
            expect(try await call(gateway, "POST", "jobs/none:cancel"), is: 404)
            expect(try await call(gateway, "GET", "jobs/a/b"), is: 404)
            expect(try await call(gateway, "GET", "jobs/a/results?after=x"), is: 400, "after")
            let method = try await call(gateway, "DELETE", "jobs")
            expect(method, is: 405)
            #expect(method.headers["allow"] == "GET, HEAD, POST")
            let missing = try await call(gateway, "GET", "jobs", key: "")
            expect(missing, is: 401)
            #expect(missing.headers["www-authenticate"]?.hasPrefix("Bearer") == true)
            expect(try await call(gateway, "GET", "jobs", key: "ffk_wrong"), is: 401)
            expect(try await call(gateway, "POST", "jobs", job(["a"]), key: gateway.reader), is: 403, "push")
            expect(try await call(gateway, "POST", "jobs/a:cancel", key: gateway.reader), is: 403, "operate")
            expect(try await call(gateway, "GET", "jobs", key: gateway.stranger), is: 403, "projects/demo")
            #expect(try await rig.stats().sends == 0)
            let document = try await call(gateway, "GET", "/openapi.json", key: "")
            #expect(document.status == 200 && document.json["openapi"] as? String == "3.1.0")
        }
    }

    @Test func operationsReachTheJob() async throws {
        try await withGateway { rig, gateway in
            let start = Int(Date().timeIntervalSince1970 * 1_000) + 3_600_000
            let later = job(["a", "b"], ",\"id\":\"later\",\"not_before\":\(start)")
            #expect(try await call(gateway, "POST", "jobs", later).status == 202)
            try await Wait.until("a worker to take the job") { try await rig.job("later")["state"] == "scheduled" }
            let paused = try await call(gateway, "POST", "jobs/later:pause?reason=too+early")
            #expect(paused.json["state"] as? String == "paused", "\(paused)")
            let resumed = try await call(gateway, "POST", "jobs/later:resume")
            #expect(resumed.status == 200 && resumed.json["state"] as? String != "paused", "\(resumed)")
            #expect(try await call(gateway, "POST", "jobs/later:cancel").status == 200)
            try await rig.finished("later")
            let results = try await call(gateway, "GET", "jobs/later/results").objects("results")
            #expect(results.map { $0["status"] as? String } == ["cancelled", "cancelled"], "\(results)")
            expect(try await call(gateway, "POST", "jobs/later:cancel"), is: 409, "cancelled")
            let reply = try await rig.client.send(RedisCommand("XRANGE", "fanfare:{demo}:audit", "-", "+"))
            let acts = (reply.array ?? []).compactMap { StreamEntry($0) }
            #expect(acts.allSatisfy { $0.text("actor") == "gateway key all" } && acts.count >= 3, "\(acts)")
            #expect(acts.first?.text("action") == "pause" && acts.first?.text("reason") == "too early", "\(acts)")
        }
    }

    /// schemathesis makes requests that the description allows, and others, and looks at the answers.
    @Test(.enabled(if: python != nil, "FANFARE_SDK_PYTHON names no Python"))
    func answersAreThoseOfTheDescription() async throws {
        try await withGateway { rig, gateway in
            let python = URL(fileURLWithPath: Self.python ?? "")
            let document = try await call(gateway, "GET", "/openapi.json", key: "").body
            let file = rig.directory.appendingPathComponent("openapi.json")
            try document.write(to: file, atomically: true, encoding: .utf8)
            let validator = try ChildProcess(["-m", "openapi_spec_validator", file.path], executable: python)
            #expect(try await validator.wait(seconds: 60) == 0, "\(validator.stdout) \(validator.stderr)")

            // A key is for some projects; any other is a 403.
            let projects = #""pattern": "^[a-z0-9][a-z0-9-]{0,62}$""#
            try #require(document.contains(projects))
            try document.replacingOccurrences(of: projects, with: #""enum": ["demo"]"#)
                .write(to: file, atomically: true, encoding: .utf8)
            let program = python.deletingLastPathComponent().appendingPathComponent("schemathesis").path
            let process = try ChildProcess(
                [
                    // It keeps what it found in the folder in which it runs.
                    "--chdir", rig.directory.path, program, "--config-file",
                    Repository.fixture("gateway/schemathesis.toml"), "run", file.path, "--url",
                    "http://127.0.0.1:\(gateway.port)", "--header", "Authorization: Bearer \(gateway.key)",
                    "--max-examples", "20", "--seed", "1", "--no-color",
                ],
                executable: URL(fileURLWithPath: "/usr/bin/env")
            )
            let status = try await process.wait(seconds: 300)
            #expect(status == 0, "\(process.stdout.suffix(8_000)) \(process.stderr.suffix(2_000))")
        }
    }

    @Test func equalKeysAreOneJob() async throws {
        try await withGateway { rig, gateway in
            let key = ["Idempotency-Key: \"order-7\""]
            let first = try await call(gateway, "POST", "jobs?wait=30000", job(["same"]), headers: key)
            let again = try await call(gateway, "POST", "jobs?wait=30000", job(["same"]), headers: key)
            for answer in [first, again] {
                #expect(answer.status == 200 && answer.json["id"] as? String == "order-7", "\(answer)")
                #expect(answer.objects("results").count == 1, "\(answer)")
            }
            #expect(try await rig.deliveries("same").count == 1)
            let other = try await call(gateway, "POST", "jobs", job(["other"]), headers: key)
            #expect(other.status == 422, "\(other)")
            #expect(try await rig.deliveries("other").isEmpty)
        }
    }

    @Test func keyOfAJobThatEndedWithoutAnAttemptIsFree() async throws {
        try await withGateway { rig, gateway in
            let key = ["Idempotency-Key: order-8"]
            let start = Int(Date().timeIntervalSince1970 * 1_000) + 3_600_000
            let later = job(["wrong"], ",\"not_before\":\(start)")
            #expect(try await call(gateway, "POST", "jobs", later, headers: key).status == 202)
            try await Wait.until("a worker to take the job") { try await rig.job("order-8")["state"] == "scheduled" }
            let early = try await call(gateway, "POST", "jobs", job(["right"]), headers: key)
            #expect(early.status == 422, "\(early)")
            #expect(try await call(gateway, "POST", "jobs/order-8:cancel").status == 200)
            try await rig.finished("order-8")
            let corrected = try await call(gateway, "POST", "jobs?wait=30000", job(["right"]), headers: key)
            #expect(corrected.status == 200 && corrected.json["state"] as? String == "done", "\(corrected)")
            #expect(try await rig.deliveries("right").count == 1)
            #expect(try await call(gateway, "POST", "jobs", job(["third"]), headers: key).status == 422)
        }
    }

    @Test func workersThatAreAwayHideNoJob() async throws {
        try await withGateway { rig, gateway in
            #expect(try await call(gateway, "POST", "jobs?wait=30000", job(["a"])).status == 200)
            gateway.worker.signal(SIGKILL)
            _ = try await gateway.worker.wait(seconds: 60)
            let pushed = try await call(gateway, "POST", "jobs?wait=300", job(["b"]))
            let id = try #require(pushed.json["id"] as? String)
            #expect(pushed.status == 202, "\(pushed)")
            #expect(try await call(gateway, "GET", "jobs/\(id)").json["state"] as? String == "waiting")
            let none = try await call(gateway, "GET", "jobs/\(id)/results")
            let next = try #require(none.json["next"] as? String)
            expect(try await call(gateway, "POST", "jobs/\(id):pause"), is: 409, "No worker has taken")
            try await rig.startWorker(gateway.configuration)
            try await rig.finished(id)
            let results = try await call(gateway, "GET", "jobs/\(id)/results?after=\(next)")
            #expect(results.objects("results").count == 1 && results.json["next"] == nil, "\(results)")
        }
    }

    @Test func jobBehindManyOthersIsFoundByEveryGateway() async throws {
        try await withGateway { rig, gateway in
            func pushOthers() async throws {
                for number in 0..<1_500 {
                    _ = try await rig.push(["token": "other-\(number)", "message": "{}", "results": "none"])
                }
            }
            let (other, port) = try await startGateway(gateway.configuration)
            gateway.worker.signal(SIGKILL)
            _ = try await gateway.worker.wait(seconds: 60)
            try await pushOthers()
            let pushed = try await call(gateway, "POST", "jobs", job(["late"]))
            let location = try #require(pushed.headers["location"])
            try await pushOthers()
            for port in [gateway.port, port] {
                let read = try await call(gateway, "GET", location, port: port)
                #expect(read.status == 200 && read.json["state"] as? String == "waiting", "\(read)")
            }
            try await rig.startWorker(gateway.configuration)
            try await rig.finished(try #require(pushed.json["id"] as? String))
            #expect(try await call(gateway, "GET", location).json["state"] as? String == "done")
            // Notes of jobs that workers took are deleted with later pushes.
            try await Wait.until("the other jobs to be taken") { try await rig.length("jobs") == 0 }
            #expect(try await call(gateway, "POST", "jobs?wait=30000", job(["last"])).status == 200)
            let notes = try await rig.client.send(RedisCommand("ZCARD", "fanfare:{demo}:gateway:pushed"))
            #expect(notes.integer == 0)
            other.signal(SIGTERM)
            #expect(try await other.wait(seconds: 120) == 0)
        }
    }

    @Test func waitsAboveTheLimitAreRefusedAndPushNothing() async throws {
        try await withGateway(", max_waiting: 1") { rig, gateway in
            let start = Int(Date().timeIntervalSince1970 * 1_000) + 3_600_000
            let later = job(["a"], ",\"id\":\"later\",\"not_before\":\(start)")
            async let first = call(gateway, "POST", "jobs?wait=60000", later)
            try await Wait.until("a worker to take the job") { try await rig.job("later")["state"] == "scheduled" }
            let refused = try await call(gateway, "POST", "jobs?wait=1000", job(["refused"]))
            expect(refused, is: 503, "Too many requests wait for their results.")
            #expect(try await call(gateway, "POST", "jobs", job(["b"], ",\"id\":\"b\"")).status == 202)
            try await rig.finished("b")
            #expect(try await call(gateway, "POST", "jobs/later:cancel").status == 200)
            #expect(try await first.json["state"] as? String == "cancelled")
            #expect(try await call(gateway, "POST", "jobs?wait=30000", job(["c"])).status == 200)
            #expect(try await rig.deliveries("refused").isEmpty)
        }
    }

    @Test func redisThatIsAwayIsA503BeforeAnythingIsPushed() async throws {
        try await withGateway { rig, gateway in
            #expect(try await call(gateway, "GET", "jobs").status == 200)
            rig.redis.kill9()
            for answer in [
                try await call(gateway, "POST", "jobs", job(["away"])), try await call(gateway, "GET", "jobs/a"),
            ] {
                expect(answer, is: 503)
                #expect((1...30).contains(Int(answer.headers["retry-after"] ?? "") ?? 0))
            }
            try rig.redis.restart()
            try await Wait.until("the gateway to push again") {
                try await call(gateway, "POST", "jobs?wait=30000", job(["after"])).status == 200
            }
            #expect(try await rig.deliveries("away").isEmpty)
        }
    }
}
