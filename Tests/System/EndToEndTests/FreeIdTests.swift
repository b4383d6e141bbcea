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

    @Test func jobThatExpiredUnsentMayBePushedAgain() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            try await rig.fanfare(configuration, ["project", "pause", "demo"])
            let end = String(Int(Date().timeIntervalSince1970 * 1_000) + 500)
            try await rig.push(["id": "e", "token": "t", "message": first, "expires_at": end])
            #expect(try await rig.finished("e")["state"] == "expired")
            try await rig.fanfare(configuration, ["project", "resume", "demo"])
            try await rig.push(["id": "e", "token": "t", "message": second])
            try await Wait.until("the end\n\(rig.logs)") { try await rig.job("e")["state"] == "done" }
            try await expectSecond("t", rig)
        }
    }

    @Test func audienceThatWasEmptyMayBePushedAgain() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            try await rig.push(["id": "a", "audience": "aud:{demo}:a", "message": first])
            #expect(try await rig.finished("a")["total"] == "0")
            _ = try await rig.client.send(RedisCommand("RPUSH", "aud:{demo}:a", "t"))
            try await rig.push(["id": "a", "audience": "aud:{demo}:a", "message": second])
            try await Wait.until("the end") { try await rig.job("a")["sent"] == "1" }
            try await expectSecond("t", rig)
        }
    }
}
