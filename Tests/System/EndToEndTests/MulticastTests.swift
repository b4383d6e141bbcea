import FanfareModel
import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Legacy multicast requests, which carry many recipients, and the result of each recipient.
@Suite struct MulticastTests {
    private static let message = #"{"data":{"k":"v"}}"#

    /// A list with one token is sent as a single request, not as a multicast.
    @Test(arguments: HTTPEngine.allCases)
    func oneRecipientIsAddressedByToAndSeveralByRegistrationIDs(engine: HTTPEngine) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let extra = "http_engine: \(engine.rawValue)"
            try await rig.startWorker(try rig.configuration(transport: "legacy", extra: extra))
            try await rig.push(["id": "one", "message": Self.message, "token": "a"])
            try await rig.push(["id": "list", "message": Self.message, "tokens": Rig.tokens(["b"])])
            try await rig.push(["id": "topic", "message": Self.message, "topic": "news"])
            for id in ["one", "list", "topic"] { try await rig.finished(id) }
            let single = try await rig.stats()
            #expect(single.requests == 3 && single.multicasts == 0, "\(single)")
            try await rig.push(["id": "many", "message": Self.message, "tokens": Rig.tokens(["c", "d", "e"])])
            try await rig.finished("many")
            let several = try await rig.stats()
            #expect(several.sends == 6 && several.multicasts > 0, "\(several)")
            #expect(several.requests - 3 == several.multicasts || several.multicasts == 1, "\(several)")
        }
    }

    /// A token of an audience may contain JSON syntax. It must not change a request or a results entry.
    @Test func invalidTokensStayOutOfTheRequest() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "legacy"))
            let hostile = [
                #"a","b"#, #"a"],"x":["b"#, #"t","status":"sent"},{"i":0,"token":"t"#, "a\\", "a\u{0}b", "K\u{212A}",
                " ", "é", "\u{7F}",
            ]
            var tokens = (0..<1_500).map { "token-\($0)" }
            for (number, text) in hostile.enumerated() { tokens.insert(text, at: number * 150) }
            // Duplicates in the list: sent once, reported for each occurrence.
            tokens += [hostile[0], "token-7"]
            let key = "audience:{\(rig.project)}:hostile"
            for start in stride(from: 0, to: tokens.count, by: 500) {
                var command = RedisCommand("RPUSH", key)
                for token in tokens[start..<min(start + 500, tokens.count)] { command.append(token) }
                _ = try await rig.client.send(command)
            }
            try await rig.push(["id": "many", "message": Self.message, "audience": key, "results": "all"])
            let job = try await rig.finished("many")
            #expect(job["sent"] == "1501" && job["failed"] == "\(hostile.count + 1)", "\(job)")
            let results = try await rig.results("many")
            #expect(results.map(\.i).sorted() == Array(tokens.indices))
            #expect(results.allSatisfy { $0.token == tokens[$0.i] })
            let failed = results.filter { $0.status == "failed" }
            #expect(Set(failed.compactMap(\.token)) == Set(hostile))
            #expect(failed.allSatisfy { $0.error == "INVALID_ARGUMENT" && $0.attempts == 0 })
            let sent = results.filter { $0.status == "sent" }
            #expect(sent.count == 1_501 && sent.allSatisfy { $0.message_id?.isEmpty == false && $0.attempts == 1 })
            let stats = try await rig.stats()
            #expect(stats.duplicates <= 1, "token-7 may occur in two batches: \(stats)")
        }
    }

    /// Pacing delays a request but does not split it. Recipients that fail together are retried together.
    @Test func batchIsOneRequestUnderTheDefaultQuota() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "legacy", quotaPerMinute: 600_000))
            let tokens = (0..<2_500).map { $0 % 16 == 15 ? "sbx-unavailable-1-\($0)" : "token-\($0)" }
            let failing = tokens.count { $0.hasPrefix("sbx-") }
            #expect(failing == 156)
            try await rig.push(["id": "many", "message": Self.message, "tokens": Rig.tokens(tokens)])
            try await Wait.until("the first pass\n\(rig.logs)") { try await rig.job("many")["first_pass_ms"] != nil }
            // The first pass ends when the last request leaves; the sandbox counts that request when it has arrived.
            var first = try await rig.stats()
            try await Wait.until("the sandbox to count all recipients\n\(rig.logs)") {
                first = try await rig.stats()
                return first.sends >= 2_500
            }
            // A slow machine sees the first retries, too.
            #expect(first.requests == 3 || first.sends > 2_500, "\(first)")
            // Single recipients are sent while the fan-out repays its permits.
            try await rig.push(["id": "one", "message": Self.message, "token": "single", "results": "all"])
            let one = try await rig.finished("one", seconds: 10)
            #expect(one["sent"] == "1")
            let job = try await rig.finished("many", seconds: 120)
            #expect(job["sent"] == "2500")
            let all = try await rig.stats()
            #expect(all.sends == 2_657 && all.requests - 4 <= 30, "\(all.requests - 4) requests for 156 retries")
        }
    }

    /// FCM refused one recipient for its rate in another job. That recipient waits; the others are sent.
    @Test func recipientOverItsRateWaitsWithoutHoldingOthers() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "legacy"))
            let slow = "sbx-devicerate-1-x"
            try await rig.push(["id": "first", "message": Self.message, "tokens": Rig.tokens(["a", slow])])
            try await Wait.until("a refusal\n\(rig.logs)") { try await rig.job("first")["sent"] == "1" }
            let tokens = (0..<400).map { $0 == 123 ? slow : "token-\($0)" }
            try await rig.push([
                "id": "second", "message": #"{"data":{"k":"w"}}"#, "tokens": Rig.tokens(tokens), "results": "all",
            ])
            try await Wait.until("all other results\n\(rig.logs)") {
                try await rig.results("second").count == 399
            }
            let early = try await rig.results("second").map(\.i)
            #expect(Set(early) == Set(tokens.indices).subtracting([123]))
            try await rig.finished("second")
            try await rig.finished("first")
            let last = try #require(try await rig.results("second").first { $0.i == 123 })
            #expect(
                last.token == slow && last.status == "sent" && last.attempts == 1,
                "waiting is not an attempt: \(last)"
            )
            let stats = try await rig.stats()
            #expect(stats.sends == 403 && stats.duplicates == 1, "only the slow recipient got both jobs: \(stats)")
        }
    }
}
