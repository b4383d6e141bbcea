import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// A gateway before a worker and the sandbox, as its clients see it.
@Suite struct GatewayTests {
    private static let python = ProcessInfo.processInfo.environment["FANFARE_SDK_PYTHON"]

    private struct Answer: Decodable {
        var status: Int
        var job: String?
        var retry_after: String?
        var body: String
    }

    /// - Parameter port: of another gateway.
    private func call(
        _ gateway: RunningGateway,
        _ token: String,
        _ options: [String] = [],
        port: Int? = nil
    ) throws -> ChildProcess {
        let script = Repository.fixture("gateway/call.py")
        return try ChildProcess(
            [script, String(port ?? gateway.port), "demo", gateway.key, token] + options,
            executable: URL(fileURLWithPath: "/usr/bin/python3")
        )
    }

    private func answer(_ process: ChildProcess) async throws -> Answer {
        let status = try await process.wait(seconds: 120)
        try #require(status == 0, "\(process.stderr)")
        return try JSONDecoder().decode(Answer.self, from: Data(process.stdout.utf8))
    }

    @Test(.enabled(if: python != nil, "FANFARE_SDK_PYTHON names no Python"), arguments: [false, true])
    func googlesSDKCannotTellItFromFCM(isTLS: Bool) async throws {
        let certificates = try Certificates()
        let identity = try certificates.issue("gateway", names: ["DNS:localhost", "IP:127.0.0.1"])
        let settings = isTLS ? ", cert_file: \(identity.certFile), key_file: \(identity.keyFile)" : ""
        try await withGateway(settings) { rig, gateway in
            let script = Repository.fixture("gateway/admin.py")
            let origin = "\(isTLS ? "https" : "http")://localhost:\(gateway.port)"
            let process = try ChildProcess(
                [script, origin, rig.project, gateway.key],
                environment: ["REQUESTS_CA_BUNDLE": certificates.caFile],
                executable: URL(fileURLWithPath: Self.python ?? "")
            )
            #expect(try await process.wait(seconds: 300) == 0, "\(process.stderr)\n\(gateway.process.stderr)")
            let seen = try #require(try JSONSerialization.jsonObject(with: Data(process.stdout.utf8)) as? [String: Any])
            for name in ["send", "dry run", "topic"] {
                #expect((seen[name] as? String)?.hasPrefix("projects/demo/messages/") == true, "\(name): \(seen)")
            }
            #expect(seen["unregistered"] as? String == "UnregisteredError")
            #expect(seen["wrong message"] as? String == "InvalidArgumentError")
            // The SDK asks its credential for a new token after a 401, and this one has none.
            #expect(seen["wrong key"] as? String == "RefreshError")
            let each = seen["each"] as? [Any]
            #expect(each?[0] as? Int == 199 && each?[1] as? Int == 1 && each?[2] as? String == "UnregisteredError")
            let subscribed = seen["subscribe"] as? [Any]
            #expect(subscribed?[0] as? Int == 1 && subscribed?[1] as? Int == 1, "\(seen)")
            #expect(try await rig.deliveries("sdk-1").count == 1)
            #expect(try await rig.deliveries("sdk-dry").isEmpty)
            #expect(try await rig.deliveries("sdk-each-199").count == 1)
        }
    }

    @Test func clientThatComesBackGetsTheAnswerAndNoSecondCopy() async throws {
        try await withGateway { rig, gateway in
            let token = "sbx-slow-3000-a"
            _ = try await call(gateway, token, ["--leave-after", "1"]).wait(seconds: 120)
            let again = try await answer(call(gateway, token))
            #expect(again.status == 200 && again.body.contains("projects/demo/messages/"), "\(again)")
            #expect(try await rig.deliveries(token).count == 1)
            // The answer is given once: the next equal request is a send of its own.
            let other = try await answer(call(gateway, token))
            #expect(other.status == 200 && other.job != again.job, "\(other)")
            #expect(try await rig.deliveries(token).count == 2)
        }
    }

    @Test func answerThatAResetLosesIsTakenOver() async throws {
        try await withGateway { rig, gateway in
            _ = try await call(gateway, "lost-answer", ["--reset"]).wait(seconds: 60)
            let again = try await answer(call(gateway, "lost-answer"))
            #expect(again.status == 200 && again.body.contains("projects/demo/messages/0:"), "\(again)")
            #expect(try await rig.deliveries("lost-answer").count == 1)
        }
    }

    @Test func clientOfAKilledGatewayGetsTheAnswerFromAnotherOne() async throws {
        try await withGateway { rig, gateway in
            let token = "sbx-slow-3000-c"
            let (other, port) = try await startGateway(gateway.configuration)
            let first = try call(gateway, token, port: port)
            try await Wait.until("the send to begin") { try await rig.stats().sends > 0 }
            other.signal(SIGKILL)
            _ = try await other.wait(seconds: 60)
            #expect(try await first.wait(seconds: 60) != 0)
            let again = try await answer(call(gateway, token))
            #expect(again.status == 200 && again.body.contains("projects/demo/messages/0:"), "\(again)")
            #expect(try await rig.deliveries(token).count == 1)
        }
    }

    @Test func resultsThatWereWrittenBeforeARepeatAreRead() async throws {
        try await withGateway { rig, gateway in
            let tokens = ["sbx-unregistered-f", "sbx-slow-3000-f"]
            _ = try await call(gateway, tokens.joined(separator: ","), ["--legacy", "--leave-after", "1"]).wait(
                seconds: 60
            )
            let again = try await answer(call(gateway, tokens.joined(separator: ","), ["--legacy"]))
            #expect(again.status == 200 && again.body.contains("NotRegistered"), "\(again)")
            #expect(try await rig.deliveries("sbx-slow-3000-f").count == 1)
        }
    }

    @Test func idOfAnotherJobIsNoAnswer() async throws {
        try await withGateway { rig, gateway in
            _ = try await answer(call(gateway, "before"))
            var job = RedisCommand("XADD", "fanfare:{demo}:jobs", "*", "id", "order-9", "message", "{}")
            for word in ["token", "sbx-unregistered-g"] { job.append(word) }
            _ = try await rig.client.send(job)
            #expect(try await rig.finished("order-9")["failed"] == "1")
            let answer = try await answer(call(gateway, "healthy", ["--header", "Idempotency-Key: order-9"]))
            #expect(answer.status == 400 && answer.body.contains("another job"), "\(answer)")
        }
    }

    @Test func equalRequestsOfConnectedClientsAreTwoSends() async throws {
        try await withGateway { rig, gateway in
            let (other, port) = try await startGateway(gateway.configuration)
            let calls = try [gateway.port, gateway.port, port].map { try call(gateway, "sbx-slow-1000-d", port: $0) }
            var jobs: Set<String?> = []
            for call in calls { jobs.insert(try await answer(call).job) }
            #expect(jobs.count == 3 && !jobs.contains(nil), "\(jobs)")
            #expect(try await rig.deliveries("sbx-slow-1000-d").count == 3)
            other.signal(SIGTERM)
            #expect(try await other.wait(seconds: 120) == 0)
        }
    }

    @Test func idempotencyKeyIsOneSendAndOneBody() async throws {
        try await withGateway { rig, gateway in
            let first = try await answer(call(gateway, "once", ["--header", "Idempotency-Key: \"order-1\""]))
            let again = try await answer(call(gateway, "once", ["--header", "Idempotency-Key: order-1"]))
            #expect(first.status == 200 && again.body == first.body && first.job == "order-1", "\(first) \(again)")
            #expect(try await rig.deliveries("once").count == 1)
            let other = try await answer(call(gateway, "another", ["--header", "Idempotency-Key: order-1"]))
            #expect(other.status == 400 && other.body.contains("Idempotency-Key"), "\(other)")
            #expect(try await rig.deliveries("another").isEmpty)
        }
    }

    @Test func refusedRepeatLeavesItsKeyToTheRequestThatWaits() async throws {
        try await withGateway(", max_waiting: 1") { rig, gateway in
            let (token, key) = ("sbx-slow-3000-key", ["--header", "Idempotency-Key: order-2"])
            let waiting = try call(gateway, token, key)
            try await Wait.until("a worker to take the job") { try await rig.job("order-2")["state"] != nil }
            #expect(try await answer(call(gateway, token, key)).status == 503)
            #expect(try await answer(waiting).status == 200)
            let other = try await answer(call(gateway, "another", key))
            #expect(other.status == 400 && other.body.contains("with another key or body"), "\(other)")
        }
    }

    @Test func redisThatIsAwayIsA503BeforeAnythingIsSent() async throws {
        try await withGateway { rig, gateway in
            #expect(try await answer(call(gateway, "before")).status == 200)
            rig.redis.kill9()
            let refused = try await answer(call(gateway, "away"))
            #expect(refused.status == 503 && refused.job == nil && refused.body.contains("UNAVAILABLE"), "\(refused)")
            #expect((1...30).contains(Int(refused.retry_after ?? "") ?? 0))
            try rig.redis.restart()
            try await Wait.until("the gateway to send again") {
                try await answer(call(gateway, "after")).status == 200
            }
            #expect(try await rig.deliveries("away").isEmpty)
        }
    }

    @Test func backpressureIsA503WhileAWorkerLives() async throws {
        try await withGateway(", wait_ms: 500") { rig, gateway in
            let (control, reports) = ("fanfare:{demo}:ctl", "fanfare:{demo}:about")
            func report() async throws -> [String] {
                try await rig.client.send(RedisCommand("HGETALL", reports)).array?.compactMap(\.string) ?? []
            }
            try await Wait.until("the worker to report") { try await report().count == 2 }
            let (slow, keyed) = ("sbx-slow-3000-p", ["--header", "Idempotency-Key: \"once\""])
            let leaving = ["--leave-after", "1", "--header", "X-Fanfare-Wait: 9000"]
            _ = try await call(gateway, slow, leaving).wait(seconds: 120)
            #expect(try await answer(call(gateway, "keyed", keyed)).job == "once")
            try await Wait.until("the results") { try await rig.entries("results").count == 2 }
            // A worker that runs would measure the pressure itself.
            gateway.worker.signal(SIGKILL)
            _ = try await gateway.worker.wait(seconds: 60)
            let last = try await report()
            func setLease(_ reportedMs: String) async throws {
                let text = last[1].drop { $0 != "|" }
                _ = try await rig.client.send(RedisCommand("HSET", reports, last[0], reportedMs + text))
            }
            try await setLease("9999999999999")
            for (pressure, words) in [("memory", "Redis is nearly out of memory"), ("results", "the stream results")] {
                _ = try await rig.client.send(RedisCommand("HSET", control, "pressure", pressure))
                try await Wait.until("the gateway to read \(pressure)") {
                    let refused = try await answer(call(gateway, "refused"))
                    #expect(refused.status == 503 && refused.job == nil, "\(refused)")
                    #expect((1...30).contains(Int(refused.retry_after ?? "") ?? 0))
                    return refused.body.contains(words)
                }
            }
            #expect(try await rig.length("jobs") == 0)
            // A repeat is no new work for workers.
            let repeated = try await answer(call(gateway, slow))
            #expect(repeated.status == 200 && repeated.body.contains("projects/demo/messages/"), "\(repeated)")
            #expect(try await answer(call(gateway, "keyed", keyed)).job == "once")
            for token in [slow, "keyed"] { #expect(try await rig.deliveries(token).count == 1) }
            // Pushed again, the job is not sent again.
            _ = try await rig.client.send(RedisCommand("XTRIM", "fanfare:{demo}:jobs", "MAXLEN", "0"))
            // No worker keeps up the note, and entries can wait in Redis.
            try await setLease("0")
            try await Wait.until("the gateway to push again") { try await answer(call(gateway, "after")).status == 200 }
            #expect(try await rig.length("jobs") == 1)
            #expect(try await rig.pressure() == "results")
        }
    }

    @Test func traceOfTheRequestIsTheJobs() async throws {
        try await withGateway { rig, gateway in
            let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            let headers = ["--header", "traceparent: \(parent)", "--header", "tracestate: v=1"]
            let job = try #require(try await answer(call(gateway, "traced", headers)).job)
            let entry = try #require(try await rig.entries("results").first { $0["job"] == job })
            #expect(entry["traceparent"] == parent && entry["tracestate"] == "v=1", "\(entry)")
        }
    }

    /// The gateway reads keys every 5 s.
    @Test func removedKeyIsRefusedDespiteFaultsOfOtherFiles() async throws {
        try await withGateway { rig, gateway in
            let keys = rig.keysFolder
            let crm = RunningGateway(
                process: gateway.process,
                worker: gateway.worker,
                configuration: gateway.configuration,
                port: gateway.port,
                keys: [try await addKey("crm", ["--project", rig.project], gateway.configuration)]
            )
            try await Wait.until("the new key to count") { try await answer(call(crm, "new")).status == 200 }
            try "name: [".write(toFile: keys + "/bad.yaml", atomically: true, encoding: .utf8)
            try FileManager.default.removeItem(atPath: keys + "/shop.yaml")
            try await Wait.until("the removed key to be refused") {
                try await answer(call(gateway, "removed")).status == 401
            }
            let text = try String(contentsOfFile: gateway.configuration, encoding: .utf8)
            try "\(text)\nnonsense: 1\n".write(toFile: gateway.configuration, atomically: true, encoding: .utf8)
            try await Wait.until("the fault to be logged") { gateway.process.stderr.contains("nonsense") }
            #expect(try await answer(call(crm, "faulty")).status == 200, "a fault removes no key")
            try FileManager.default.removeItem(atPath: keys + "/crm.yaml")
            try await Wait.until("the other removed key to be refused") {
                try await answer(call(crm, "removed")).status == 401
            }
            let log = gateway.process.stderr
            #expect(log.components(separatedBy: "(bad.yaml)").count == 2, "each fault is logged once: \(log)")
        }
    }

    @Test func requestsThatWaitAreAnsweredBeforeTheEnd() async throws {
        try await withGateway { rig, gateway in
            let waiting = try call(gateway, "sbx-slow-3000-b")
            try await Wait.until("the send to begin") { try await rig.stats().sends > 0 }
            gateway.process.signal(SIGHUP)
            gateway.process.signal(SIGTERM)
            let last = try await answer(waiting)
            #expect(last.status == 200 && last.body.contains("projects/demo/messages/0:"), "\(last)")
            #expect(try await gateway.process.wait(seconds: 120) == 0)
        }
    }

    @Test func workersThatAreAwayMakeALateAnswerAndLoseNothing() async throws {
        try await withGateway(", wait_ms: 500") { rig, gateway in
            #expect(try await answer(call(gateway, "first")).status == 200)
            gateway.worker.signal(SIGKILL)
            _ = try await gateway.worker.wait(seconds: 60)
            let late = try await answer(call(gateway, "late"))
            let job = try #require(late.job)
            #expect(late.status == 200 && late.body.contains("projects/demo/messages/fanfare:\(job)"), "\(late)")
            try await rig.startWorker(gateway.configuration)
            #expect(try await rig.finished(job)["sent"] == "1")
        }
    }
}
