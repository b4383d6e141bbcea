import Foundation
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// Legacy answers of status 200 whose body is cut or stalls. Results that arrived count; the other recipients are
/// ambiguous.
@Suite struct CutAnswerTests {
    private static let message = #"{"data":{"k":"v"}}"#
    private static let count = 60

    /// Every third recipient is unregistered.
    private static let recipients = (0..<count).map { $0 % 3 == 0 ? "sbx-unregistered-\($0)" : "token-\($0)" }

    /// Sends one job; the sandbox delivers it, and `fault` cuts its first answer.
    private func run(
        _ fault: String,
        recipients: [String] = recipients,
        delivery: String = "at_least_once",
        body: String = "json"
    ) async throws -> [Rig.Recipient] {
        var results: [Rig.Recipient] = []
        try await withRig { rig in
            try await rig.startSandbox()
            _ = try await rig.addFault(#"{"match":{"path":"/fcm/send"},"action":\#(fault),"times":1}"#)
            try await rig.startWorker(try rig.configuration(transport: "legacy", project: "legacy_body: \(body)"))
            try await rig.push([
                "id": "cut", "message": Self.message, "tokens": Rig.tokens(recipients), "results": "all",
                "delivery": delivery,
            ])
            try await rig.finished("cut", seconds: 90)
            results = try await rig.results("cut").sorted { $0.i < $1.i }
            let stats = try await rig.stats()
            let again = results.filter { $0.maybe_dup == true && $0.status == "sent" }.count
            #expect(stats.duplicates <= again, "every duplicate is flagged: \(stats)")
            if delivery == "at_most_once" { #expect(stats.duplicates == 0) }
        }
        #expect(results.map(\.token) == recipients)
        return results
    }

    private func isGone(_ index: Int) -> Bool { index % 3 == 0 }

    /// The start of the body arrives, then the stream is reset. Recipients with a result in it are not sent again.
    @Test func cutAnswerKeepsItsResultsAndTheOthersAreSentAgain() async throws {
        let results = try await run(#"{"truncate":1500}"#)
        for result in results {
            if isGone(result.i) {
                #expect(result.status == "failed" && result.error == "UNREGISTERED", "\(result)")
            } else {
                #expect(result.status == "sent", "\(result)")
            }
        }
        let once = results.prefix { $0.attempts == 1 && $0.maybe_dup != true }
        #expect((5..<55).contains(once.count), "results before the cut: \(once.count)")
        #expect(results.dropFirst(once.count).allSatisfy { $0.attempts == 2 })
        #expect(results.dropFirst(once.count).filter { !isGone($0.i) }.allSatisfy { $0.maybe_dup == true })
    }

    @Test func cutAnswerLeavesTheOthersUnknownAtMostOnce() async throws {
        let results = try await run(#"{"truncate":1500}"#, delivery: "at_most_once")
        let known = results.prefix { $0.status != "unknown" }
        #expect((5..<55).contains(known.count), "results before the cut: \(known.count)")
        #expect(known.allSatisfy { isGone($0.i) ? $0.error == "UNREGISTERED" : $0.status == "sent" })
        #expect(results.dropFirst(known.count).allSatisfy { $0.status == "unknown" && $0.attempts == 1 })
    }

    /// The answer stalls in the middle until the request times out.
    @Test func stalledAnswerKeepsTheResultsThatArrived() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let proxy = try ChaosProxy(upstream: UInt16(rig.tlsPort))
            defer { proxy.stop() }
            proxy.stall(afterBytesToClient: 30_000)
            try await rig.startWorker(
                try rig.configuration(
                    transport: "legacy",
                    endpoint: "https://localhost:\(proxy.port)",
                    requestTimeoutMs: 3_000
                )
            )
            let recipients = (0..<1_000).map { isGone($0) ? "sbx-unregistered-\($0)" : "token-\($0)" }
            try await rig.push([
                "id": "stall", "message": Self.message, "tokens": Rig.tokens(recipients), "results": "all",
            ])
            try await Wait.until("the first results\n\(rig.logs)") { try await !rig.results("stall").isEmpty }
            proxy.heal()
            try await rig.finished("stall", seconds: 90)
            let results = try await rig.results("stall").sorted { $0.i < $1.i }
            #expect(results.map(\.token) == recipients)
            #expect(results.allSatisfy { isGone($0.i) ? $0.error == "UNREGISTERED" : $0.status == "sent" })
            let once = results.prefix { $0.attempts == 1 }
            #expect((50..<950).contains(once.count), "results before the stall: \(once.count)")
            #expect(once.allSatisfy { $0.maybe_dup != true })
            let again = results.dropFirst(once.count)
            #expect(again.allSatisfy { isGone($0.i) || $0.maybe_dup == true })
            #expect(try await rig.stats().duplicates <= again.count)
            let feedback = try await rig.entries("feedback").compactMap { $0["token"] }
            #expect(Set(feedback) == Set(recipients.filter { $0.hasPrefix("sbx-unregistered") }))
        }
    }

    /// A status of 200 without its body does not prove a send, in JSON or in plain text.
    @Test(arguments: ["json", "text"], ["at_least_once", "at_most_once"])
    func singleRecipientWithoutAResultIsAmbiguous(body: String, delivery: String) async throws {
        let results = try await run(#"{"truncate":4}"#, recipients: ["token"], delivery: delivery, body: body)
        let result = try #require(results.first)
        if delivery == "at_most_once" {
            #expect(result.status == "unknown" && result.attempts == 1, "\(result)")
        } else {
            #expect(result.status == "sent" && result.attempts == 2 && result.maybe_dup == true, "\(result)")
            #expect(result.message_id?.isEmpty == false)
        }
    }
}
