import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

private let first = #"{"data":{"k":"first"}}"#
private let second = #"{"data":{"k":"second"}}"#

/// Ids of jobs that ended without an attempt: pushed again, they are sent.
@Suite struct FreeIdTests {
    private func expectSecond(_ token: String, _ rig: Rig) async throws {
        let deliveries = try await rig.deliveries(token)
        #expect(deliveries.count == 1 && deliveries.first?.contains("second") == true, "\(deliveries)")
    }

    @Test func jobCancelledBeforeItsTimeMayBePushedAgain() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            for id in ["again", "send"] {
                try await rig.push(["id": id, "token": id, "message": first, "not_before": "4000000000000"])
                try await Wait.until("the job") { try await rig.job(id)["state"] == "scheduled" }
                try await rig.fanfare(configuration, ["job", "cancel", id])
                #expect(try await rig.finished(id)["state"] == "cancelled")
            }
            try await rig.push(["id": "again", "token": "again", "message": second])
            try await Wait.until("the end") { try await rig.job("again")["state"] == "done" }
            #expect(try await rig.job("again")["duplicates"] == "0")
            try await expectSecond("again", rig)
            // Sent once, it is not sent again.
            try await rig.push(["id": "again", "token": "again", "message": first])
            try await Wait.until("the duplicate") { try await rig.job("again")["duplicates"] == "1" }
            try await expectSecond("again", rig)

            let pushed = ["send", "--token", "send", "--data", "k=second", "--id", "send", "--json", "--wait"]
            let output = try await rig.fanfare(configuration, pushed)
            #expect(!output.contains("duplicate\":true") && output.contains("done"), "\(output)")
            try await expectSecond("send", rig)
        }
    }

    /// Whatever a job is for, and wherever it waits.
    @Test func jobCancelledBeforeItsFirstAttemptMayBePushedAgain() async throws {
        let targets: [(name: String, fields: [String: String])] = [
            ("one", ["token": "one"]), ("few", ["tokens": Rig.tokens(["a", "b"])]),
            ("many", ["tokens": Rig.tokens((0..<1_500).map { "t\($0)" })]), ("topic", ["topic": "news"]),
            ("group", ["group": "APA91bGroupKey"]), ("list", ["audience": "aud:{demo}:list"]),
            ("set", ["audience": "aud:{demo}:set"]),
            ("personal", ["recipients": #"[{"token":"p","vars":{"name":"Ana"}}]"#]),
        ]
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            try await rig.fanfare(configuration, ["project", "pause", "demo"])
            for (key, add) in [("aud:{demo}:list", "RPUSH"), ("aud:{demo}:set", "SADD")] {
                _ = try await rig.client.send(RedisCommand(add, key, "m1", "m2"))
            }
            for (name, fields) in targets {
                let job = fields.merging(["id": name, "message": first]) { $1 }
                try await rig.push(job)
                try await Wait.until("job \(name)") { try await rig.job(name)["state"] == "waiting" }
                let said = try await rig.fanfare(configuration, ["job", "cancel", name])
                #expect(said.contains("the id may be used again"), "\(name): \(said)")
                let hash = try await rig.finished(name)
                #expect(hash["state"] == "cancelled" && hash["id_free"] == "1", "\(hash)")
                let shown = try await rig.fanfare(configuration, ["job", "show", name])
                #expect(shown.contains("may be used again"), "\(shown)")
                try await rig.push(job)
                try await Wait.until("job \(name) again\n\(rig.logs)") {
                    let hash = try await rig.job(name)
                    return hash["state"] == "waiting" && hash["id_free"] == nil && hash["duplicates"] == "0"
                }
            }
            try await rig.fanfare(configuration, ["project", "resume", "demo"])
            for (name, _) in targets {
                let hash = try await rig.finished(name)
                #expect(hash["state"] == "done" && hash["id_free"] == nil && hash["sent"] == hash["total"], "\(hash)")
            }
        }
    }

    @Test func jobCancelledWhileItWaitsForTheSlotMayBePushedAgain() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(quotaPerMinute: 6_000)
            try await rig.startWorker(configuration)
            let tokens = Rig.tokens((0..<1_500).map { "t\($0)" })
            try await rig.push(["id": "active", "message": first, "tokens": tokens])
            try await Wait.until("a send of the first") { try await rig.job("active")["sent"] != "0" }
            try await rig.push(["id": "next", "message": first, "tokens": tokens])
            try await Wait.until("the second") { try await rig.job("next")["state"] == "waiting" }
            for id in ["next", "active"] {
                let said = try await rig.fanfare(configuration, ["job", "cancel", id])
                #expect(said.contains("the id may be used again") == (id == "next"), "\(said)")
                let hash = try await rig.finished(id)
                #expect((hash["id_free"] == "1") == (id == "next"), "\(hash)")
            }
            try await rig.push(["id": "next", "message": second, "token": "other"])
            try await Wait.until("the end\n\(rig.logs)") { try await rig.job("next")["state"] == "done" }
            try await expectSecond("other", rig)
        }
    }

    @Test func jobThatExpiredUnsentMayBePushedAgain() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            try await rig.fanfare(configuration, ["project", "pause", "demo"])
            let end = String(Int(Date().timeIntervalSince1970 * 1_000) + 500)
            try await rig.push(["id": "e", "token": "t", "message": first, "expires_at": end])
            let expired = try await rig.finished("e")
            #expect(expired["state"] == "expired" && expired["id_free"] == "1")
            try await rig.fanfare(configuration, ["project", "resume", "demo"])
            try await rig.push(["id": "e", "token": "t", "message": second])
            try await Wait.until("the end\n\(rig.logs)") { try await rig.job("e")["state"] == "done" }
            try await expectSecond("t", rig)
        }
    }

    /// Both entries wait for a worker. The second is a push of its own, so it may not count as a duplicate.
    @Test(arguments: ["cancelled", "expired"])
    func jobPushedAgainBeforeAWorkerTookTheFirstIsSent(_ end: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            var fields = ["id": "x", "token": "t", "message": first]
            if end == "expired" { fields["expires_at"] = String(Int(Date().timeIntervalSince1970 * 1_000) - 1_000) }
            try await rig.push(fields)
            if end == "cancelled" {
                // No worker has loaded the functions yet.
                _ = try await rig.client.send(FunctionLibrary.load())
                try await rig.fanfare(configuration, ["job", "cancel", "x"])
            }
            try await rig.push(["id": "x", "token": "t", "message": second])
            try await rig.startWorker(configuration)
            try await Wait.until("the end\n\(rig.logs)") { try await rig.job("x")["state"] == "done" }
            #expect(try await rig.job("x")["duplicates"] == "0")
            try await expectSecond("t", rig)
        }
    }

    @Test func audienceThatWasEmptyMayBePushedAgain() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            try await rig.push(["id": "a", "audience": "aud:{demo}:a", "message": first])
            let empty = try await rig.finished("a")
            #expect(empty["total"] == "0" && empty["id_free"] == "1")
            _ = try await rig.client.send(RedisCommand("RPUSH", "aud:{demo}:a", "t"))
            try await rig.push(["id": "a", "audience": "aud:{demo}:a", "message": second])
            try await Wait.until("the end") { try await rig.job("a")["sent"] == "1" }
            try await expectSecond("t", rig)
        }
    }
}
