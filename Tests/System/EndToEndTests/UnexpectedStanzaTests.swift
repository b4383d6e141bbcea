import Foundation
import TestSupport
import Testing

private let hello = #"{"notification":{"title":"Hello","body":"World"}}"#

/// XMPP: stanzas that are not of the protocol, or name no message. They cost neither a connection nor a message.
@Suite(.timeLimit(.minutes(3))) struct UnexpectedStanzaTests {
    private struct XMPPStats: Decodable {
        struct Counts: Decodable { var accepted: Int }
        var xmpp: Counts
    }

    private func connections(_ rig: Rig) async throws -> Int {
        try JSONDecoder().decode(XMPPStats.self, from: try await rig.control("GET", "/stats")).xmpp.accepted
    }

    /// Google's page prints the ack of a group that was reached in part without a `message_id`.
    @Test func groupsAckWithoutAnIDIsAttributed() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "xmpp", project: try rig.xmppSettings))
            let members = Rig.tokens(["well", "sbx-unregistered-a", "sbx-unavailable-1-b"])
            _ = try await rig.control("POST", "/devices", #"{"group":"half","members":\#(members)}"#)
            let match = #""match":{"path":"xmpp","token_prefix":"half"}"#
            _ = try await rig.addFault(#"{\#(match),"action":{"without_id":true}}"#)

            // In flight on the same connection when the ack comes.
            let others = (0..<40).map { "sbx-slow-1500-\($0)" }
            try await rig.push([
                "id": "others", "message": hello, "tokens": Rig.tokens(others), "delivery": "at_most_once",
            ])
            try await Wait.until("the others in flight") { try await rig.stats().sends >= others.count }
            try await rig.push(["id": "group", "message": hello, "group": "half", "delivery": "at_most_once"])

            #expect(try await rig.finished("others")["sent"] == "40")
            #expect(try await rig.finished("group")["sent"] == "1")
            let result = try #require(try await rig.results("group").first)
            #expect(result.attempts == 2 && result.maybe_dup != true && result.message_id?.isEmpty == false)
            #expect(result.failed_tokens == ["sbx-unregistered-a"])
            for token in ["well", "sbx-unavailable-1-b"] { #expect(try await rig.deliveries(token).count == 1) }
            #expect(try await rig.stats().duplicates == 0)
            #expect(try await connections(rig) == 1)
        }
    }

    private static func gcm(_ json: String) -> String {
        #"<message><gcm xmlns="google:mobile:data">\#(json)</gcm></message>"#
    }

    static let stanzas = [
        "<presence/>", #"<iq type="result" id="none"/>"#, #"<message xmlns="jabber:server"/>"#, "<message/>",
        "<failure xmlns=\"urn:ietf:params:xml:ns:xmpp-sasl\"><aborted/></failure>", gcm("["), gcm("[]"),
        gcm(#"{"message_type":"ack","message_id":"none","from":"odd-1"}"#),
        gcm(#"{"message_type":"ack","from":"none"}"#), gcm(#"{"message_type":"nack","error":"INVALID_JSON"}"#),
        gcm(#"{"message_type":"control","control_type":"NEWS"}"#), gcm(#"{"message_type":"news"}"#),
        gcm(#"{"message_id":"u","data":{}}"#), #"<message type="error" id="none"><error/></message>"#,
    ]

    @Test func unexpectedStanzasCostNoConnectionAndNoMessage() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let worker = try await rig.startWorker(
                try rig.configuration(transport: "xmpp", project: try rig.xmppSettings)
            )
            for (index, stanza) in Self.stanzas.enumerated() {
                let fault: [String: Any] = [
                    "match": ["path": "xmpp", "token_prefix": "odd-\(index)."], "action": ["stanza": stanza],
                ]
                let body = try JSONSerialization.data(withJSONObject: fault)
                _ = try await rig.addFault(String(decoding: body, as: UTF8.self))
            }
            let tokens = Self.stanzas.indices.map { "odd-\($0).t" } + (0..<200).map { "even-\($0)" }
            try await rig.push([
                "id": "all", "message": hello, "tokens": Rig.tokens(tokens), "delivery": "at_most_once",
            ])
            let job = try await rig.finished("all")
            #expect(job["sent"] == "\(tokens.count)" && job["unknown"] == "0", "\(job)")
            #expect(try await rig.stats().duplicates == 0)
            // As many as the messages need: none was replaced.
            #expect(!worker.stderr.contains("An XMPP connection reported a problem."), "\(worker.stderr)")
            try await worker.logged("FCM sent an unexpected stanza over XMPP. It was ignored.")
        }
    }

    /// Dead members have one meaning on each transport, and the group's key is no token to delete.
    @Test func groupOfUnregisteredMembersIsEmpty() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            try await rig.startWorker(try rig.configuration(transport: "xmpp", project: try rig.xmppSettings))
            let members = Rig.tokens(["sbx-unregistered-a", "sbx-unregistered-b"])
            _ = try await rig.control("POST", "/devices", #"{"group":"dead","members":\#(members)}"#)
            try await rig.push(["id": "group", "message": hello, "group": "dead"])
            try await rig.finished("group")
            let result = try #require(try await rig.results("group").first)
            #expect(result.status == "failed" && result.error == "EMPTY_GROUP" && result.action == "none")
            #expect(result.raw_error == "DEVICE_UNREGISTERED")
            #expect(try await rig.entries("feedback").isEmpty)
        }
    }
}
