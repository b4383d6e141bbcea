import Foundation
import TestSupport
import Testing

private let data = #"{"data":{"k":"v"}}"#

/// A proxy's page in place of FCM's answer, as the producer and the operator see it.
@Suite struct ForeignAnswerTests {
    /// A firewall refuses one recipient's message; the others of the project are sent.
    @Test(arguments: [403, 404, 401, 400, 413]) func pageForOneRecipientStopsNoOther(status: Int) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let fault = #"{"match":{"path":"/v1/","token_prefix":"walled-"},"action":{"html":\#(status)},"times":1}"#
            let id = try await rig.addFault(fault)
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            try await rig.push(["id": "walled", "message": data, "token": "walled-1"])
            try await Wait.until("the page") { try await rig.faultHits()[id] == 1 }
            try await rig.push(["id": "others", "message": data, "tokens": Rig.tokens((0..<20).map { "token-\($0)" })])
            #expect(try await rig.finished("others")["sent"] == "20")
            #expect(try await rig.state(configuration).hasPrefix("working"))
            #expect(try await rig.finished("walled", seconds: 60)["sent"] == "1")
            let result = try #require(try await rig.results("walled").first)
            // A 400 may have been carried out, even if a proxy wrote its page.
            #expect(result.attempts == 2 && (result.maybe_dup ?? false) == (status == 400))
        }
    }

    @Test func projectThatReceivesOnlyPagesIsUnreachableUntilFCMAnswers() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let fault = try await rig.addFault(
                #"{"match":{"path":"/v1/projects/demo/messages"},"action":{"html":403}}"#
            )
            let configuration = try rig.configuration()
            try await rig.startWorker(configuration)
            let tokens = (0..<50).map { "token-\($0)" }
            try await rig.push(["id": "job", "message": data, "tokens": Rig.tokens(tokens)])
            let reason = "HTTP 403, text/html: not FCM's answer"
            try await Wait.until("the project to be unreachable", seconds: 60) {
                let state = try await rig.state(configuration)
                return state.hasPrefix("unreachable: FCM cannot be reached") && state.hasSuffix(reason)
            }
            #expect(try await rig.job("job")["failed"] == "0")
            _ = try await rig.control("DELETE", "/faults?id=\(fault)")
            #expect(try await rig.finished("job", seconds: 120)["sent"] == "50")
        }
    }
}
