import FCMWire
import FanfareModel
import StreamWire
import Testing

@testable import FanfareCore

@Suite struct ProtocolAdapterTests {
    private static let v1Message = Array(#"{"notification":{"title":"t"}}"#.utf8)
    private static let dataMessage = Array(#"{"data":{"k":"v"}}"#.utf8)

    private func adapter(
        _ settings: ProtocolSettings,
        message: [UInt8] = v1Message,
        _ change: (inout JobSpec) -> Void = { _ in }
    ) throws -> ProtocolAdapter {
        let job = Job(id: "j", hasOwnID: true, entryID: "1-0", target: .tokens(["a", "b"]), message: message)
        var spec = JobSpec(job: job, total: 2)
        change(&spec)
        return try ProtocolAdapter(spec, job: "j", settings: settings)
    }

    private func topic(_ spec: inout JobSpec) {
        spec.operation = .subscribe
        spec.subscription = "news"
    }

    private func request(_ adapter: ProtocolAdapter, _ texts: [String]) -> WireRequest {
        var recipients = RequestRecipients(kind: .token, name: texts[0])
        if texts.count > 1 { recipients.texts = texts.map { SharedText($0) } }
        let attempt = Attempt(job: "j", index: 0, number: 0, nonce: 1, credentialProject: "p", nowMs: 0)
        return adapter.ask { $0.request(recipients, attempt) }
    }

    private func failure(_ adapter: ProtocolAdapter, _ value: String, _ kind: RecipientKind) -> Failure? {
        adapter.ask { $0.failure(of: HeldRecipient(index: 0, value: value), kind: kind) }
    }

    private func verdicts(_ adapter: ProtocolAdapter, _ texts: [String], _ outcome: RequestOutcome) -> [Verdict] {
        var verdicts: [Verdict] = [.sent(messageID: "old", canonical: nil)]
        var recipients = RequestRecipients(kind: .token, name: texts[0])
        if texts.count > 1 { recipients.texts = texts.map { SharedText($0) } }
        let terms = JudgementTerms(kind: .token, nowMs: 0, atMostOnce: false)
        adapter.judge(outcome, of: recipients, terms, into: &verdicts)
        return verdicts
    }

    @Test func eachTransportHasItsRouteHeadersAndSize() throws {
        let v1 = try adapter(ProtocolSettings())
        #expect(v1.route == .fcm && request(v1, ["a"]).headers == .json && v1.most(.token) == 1 && !v1.isManagement)
        let multicast = try adapter(ProtocolSettings(transport: .legacy))
        #expect(multicast.route == .fcm && multicast.most(.token) == 1_000 && multicast.most(.topic) == 1)
        let text = try adapter(ProtocolSettings(transport: .legacy, legacyBody: .text), message: Self.dataMessage)
        #expect(request(text, ["a"]).headers == .form && text.most(.token) == 1)
        let xmpp = try adapter(ProtocolSettings(transport: .xmpp))
        #expect(xmpp.route == .xmpp && xmpp.most(.token) == 1)
        #expect(request(xmpp, ["a"]).messageID == "j/0/0/1" && request(xmpp, ["a"]).recipient == "a")
        let batch = try adapter(ProtocolSettings(), topic)
        #expect(batch.route == .instanceID && batch.most(.token) == 1_000)
        #expect(request(batch, ["a"]).headers == .management)
        let single = try adapter(ProtocolSettings(topicAPI: .v1), topic)
        #expect(single.route == .fcm && single.most(.token) == 1 && single.isManagement)
    }

    @Test func topicsAreListedThroughV1Only() throws {
        let listing = try adapter(ProtocolSettings(topicAPI: .v1)) { $0.operation = .topicList }
        #expect(listing.route == .fcm && request(listing, ["a"]).headers == .management && listing.most(.token) == 1)
        #expect(listing.isManagement && request(listing, ["a"]).method == .get)
        #expect(failure(listing, "..", .token) != nil)
        let rule = "topic.list needs topic_api: v1; set it in the project's configuration, this project's is iid"
        #expect(throws: TranslationError(path: "op", rule: rule)) {
            try adapter(ProtocolSettings()) { $0.operation = .topicList }
        }
    }

    @Test func oneRequestNamesAllItsRecipients() throws {
        let multicast = try adapter(ProtocolSettings(transport: .legacy))
        let many = String(decoding: request(multicast, ["a", "b"]).body, as: UTF8.self)
        #expect(many.contains(#""registration_ids":["a","b"]"#))
        let one = String(decoding: request(multicast, ["a"]).body, as: UTF8.self)
        #expect(one.contains(#""to":"a""#) && !one.contains("registration_ids"))
        let batch = request(try adapter(ProtocolSettings(), topic), ["a", "b"])
        #expect(batch.path == "/iid/v1:batchAdd" && batch.method == .post)
        let single = request(try adapter(ProtocolSettings(topicAPI: .v1), topic), ["a"])
        #expect(single.path.contains("projects/p/") && !single.path.isEmpty)
    }

    @Test func anAnswerGivesOneVerdictForEachRecipient() throws {
        let v1 = try adapter(ProtocolSettings())
        let sent = HTTPAnswer(
            status: 200,
            body: Array(#"{"name":"projects/p/messages/7"}"#.utf8),
            contentType: "application/json"
        )
        #expect(verdicts(v1, ["a"], .answered(sent)) == [.sent(messageID: "projects/p/messages/7", canonical: nil)])
        let multicast = try adapter(ProtocolSettings(transport: .legacy))
        let body =
            #"{"multicast_id":1,"success":1,"failure":1,"canonical_ids":0,"results":[{"message_id":"1"},"#
            + #"{"error":"NotRegistered"}]}"#
        let answer = HTTPAnswer(status: 200, body: Array(body.utf8), contentType: "application/json")
        let both = verdicts(multicast, ["a", "b"], .answered(answer))
        #expect(both.count == 2 && both[0] == .sent(messageID: "1", canonical: nil))
        guard case .failed(let failure) = both[1] else {
            Issue.record("\(both[1])")
            return
        }
        #expect(failure.error == .unregistered && failure.action == .remove)
        #expect(verdicts(multicast, ["a", "b"], .unsent(reason: "no route")).count == 2)
    }

    @Test func recipientsThatAreNoTokensAreRefused() throws {
        let v1 = try adapter(ProtocolSettings())
        #expect(failure(v1, "a b", .token)?.action == .remove)
        #expect(failure(v1, "", .topic) != nil)
        #expect(failure(v1, "abc", .token) == nil)
    }

    @Test(arguments: [
        (RecipientKind.token, "x"), (.fid, "x"), (.group, "x"), (.topic, "/topics/x"), (.condition, ""),
    ])
    func answerOverXMPPNamesTheRecipient(kind: RecipientKind, name: String) {
        #expect(XMPPProtocol.nameInAnswer(RequestRecipients(kind: kind, name: "x")) == name)
    }
}
