import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

@Suite struct BadInputTests {
    private static let good = #"{"notification":{"title":"Hello"}}"#

    /// Malformed entries, each with the prefix of its rejection reason.
    private static let malformed: [([String: String], String)] = [
        ([:], ""),
        (["message": good], ""),
        (["token": "t"], "message"),
        (["message": "", "token": "t"], "message"),
        (["message": "{", "token": "t"], "message"),
        (["message": "[]", "token": "t"], "message"),
        (["message": "null", "token": "t"], "message"),
        (["message": good + "x", "token": "t"], "message"),
        (["message": "\u{0}", "token": "t"], "message"),
        (["message": good, "token": ""], "token"),
        (["message": good, "token": "has space"], "token"),
        (["message": good, "token": String(repeating: "a", count: 1_025)], "token"),
        (["message": good, "token": "t", "topic": "x"], ""),
        (["message": good, "tokens": "[]"], "tokens"),
        (["message": good, "tokens": "x"], "tokens"),
        (["message": good, "tokens": #"["a",1]"#], "tokens[1]"),
        (["message": good, "tokens": #"["a","b c"]"#], "tokens[1]"),
        (["message": good, "tokens": #"["a",""]"#], "tokens[1]"),
        (["message": good, "topic": "a b"], "topic"),
        (["message": good, "condition": "a in topics"], "condition"),
        (["message": good, "condition": "'a' in topics &&"], "condition"),
        (["message": good, "audience": "tokens"], "audience"),
        (["message": good, "audience": "fanfare:{demo}:jobs"], "audience"),
        (["message": good, "token": "t", "id": "a b"], "id"),
        (["message": good, "token": "t", "id": String(repeating: "a", count: 129)], "id"),
        (["message": good, "token": "t", "priority": "10"], "priority"),
        (["message": good, "token": "t", "priority": "high"], "priority"),
        (["message": good, "token": "t", "not_before": "soon"], "not_before"),
        (["message": good, "token": "t", "expires_at": "-1"], "expires_at"),
        (["message": good, "token": "t", "validate_only": "maybe"], "validate_only"),
        (["message": good, "token": "t", "results": "some"], "results"),
        (["message": good, "token": "t", "delivery": "exactly_once"], "delivery"),
        (["message": good, "token": "t", "format": "v2"], "format"),
        (["message": good, "token": "t", "op": "explode"], "op"),
        (["message": good, "token": "t", "colour": "red"], "colour"),
        (["message": good, "token": "t", "traceparent": "zz"], "traceparent"),
        (["message": #"{"token":"x"}"#, "token": "t"], "message.token"),
        (["message": #"{"data":{"k":1}}"#, "token": "t"], "message.data"),
        (["message": #"{"data":{"from":"x"}}"#, "token": "t"], "message.data"),
        (["message": #"{"data":{"google.x":"x"}}"#, "token": "t"], "message.data"),
        (["message": #"{"bogus":1}"#, "token": "t"], "message.bogus"),
        (["message": #"{"notification":{"titel":"x"}}"#, "token": "t"], "message.notification.titel"),
        (["message": #"{"android":{"ttl":"2419201s"}}"#, "token": "t"], "message.android.ttl"),
        (["message": #"{"android":{},"androidV2":{}}"#, "token": "t"], "message"),
        (["message": #"{"fcm_options":{"analytics_label":"a b"}}"#, "token": "t"], "message.fcm_options"),
        (["message": #"{"data":{"k":"\#(String(repeating: "x", count: 4_096))"}}"#, "token": "t"], "message"),
        (["message": #"{"data":{"k":"\#(String(repeating: "x", count: 2_048))"}}"#, "topic": "t"], "message"),
        (["message": #"{"time_to_live":2419201}"#, "format": "legacy", "token": "t"], "message.time_to_live"),
        (["message": #"{"registration_ids":["a"]}"#, "format": "legacy", "token": "t"], "message.registration_ids"),
        (["message": String(repeating: "[", count: 10_000), "token": "t"], "message"),
    ]

    @Test func malformedJobsAreRejectedWithTheirFieldAndALaterJobIsSent() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            var entryIDs: [String] = []
            for (fields, _) in Self.malformed {
                // XADD needs at least one field.
                entryIDs.append(try await rig.push(fields.isEmpty ? ["nonsense": "1"] : fields))
            }
            try await rig.push(["id": "good", "message": Self.good, "token": "t"])
            try await rig.startWorker(try rig.configuration())
            #expect(try await rig.finished("good")["sent"] == "1")
            try await Wait.until("every rejection") {
                try await rig.entries("dead").count == Self.malformed.count
            }
            let dead = Dictionary(grouping: try await rig.entries("dead")) { $0["entry_id"] ?? "" }
            for (entry, (fields, path)) in zip(entryIDs, Self.malformed) {
                let record = try #require(dead[entry]?.first, "\(fields)")
                let reason = try #require(record["reason"])
                #expect(record["kind"] == "rejected")
                #expect(reason.hasPrefix(path), "\(fields.keys.sorted()): \(reason)")
                #expect(reason.contains(": "), "the reason does not have the form 'path: rule': \(reason)")
                for (name, value) in fields { #expect(record["f.\(name)"] == value) }
                let job = try await rig.job(try #require(record["job"]))
                #expect(job["state"] == "rejected" && job["reason"] == reason)
            }
            #expect(try await rig.stats().sends == 1, "rejected jobs cause no sends")
        }
    }

    /// Field names are arbitrary bytes of the producer. The `dead` stream keeps them unchanged for diagnosis.
    @Test func nonUTF8FieldNameIsKeptByteForByteInDead() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let name: [UInt8] = [0xFF, 0xFE]
            var push = RedisCommand("XADD", "fanfare:{\(rig.project)}:jobs", "*", "token", "t")
            push.append(name)
            push.append([0x00, 0xFF, 0x0A])
            _ = try await rig.client.send(push)
            try await rig.startWorker(try rig.configuration())
            try await Wait.until("the rejection") { try await rig.length("dead") == 1 }
            let reply = try await rig.client.send(RedisCommand("XRANGE", "fanfare:{\(rig.project)}:dead", "-", "+"))
            let words = try #require(reply.array?.first?.array?.last?.array).map { $0.bytes ?? [] }
            let place = try #require(words.firstIndex(of: Array("f.".utf8) + name), "\(reply)")
            #expect(words[place + 1] == [0x00, 0xFF, 0x0A])
        }
    }

    @Test func rejectedJobIDCanBeUsedAgain() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration())
            try await rig.push(["id": "again", "message": "{", "token": "t"])
            try await Wait.until("the rejection") { try await rig.job("again")["state"] == "rejected" }
            try await rig.push(["id": "again", "message": Self.good, "token": "t"])
            try await Wait.until("the valid job to be done") { try await rig.job("again")["state"] == "done" }
        }
    }

    @Test func untranslatableMessageIsRejectedWithItsField() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "legacy"))
            try await rig.push([
                "id": "v2", "token": "t",
                "message": #"{"androidV2":{"remoteNotification":{"notification":{"title":"x"}}}}"#,
            ])
            let job = try await rig.finished("v2")
            #expect(job["state"] == "rejected" && job["reason"]?.hasPrefix("message.androidV2") == true, "\(job)")
        }
    }
}
