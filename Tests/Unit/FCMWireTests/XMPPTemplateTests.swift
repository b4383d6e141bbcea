import FCMWire
import FanfareModel
import Testing

@Suite struct XMPPTemplateTests {
    static func stanza(
        _ message: String,
        _ format: MessageFormat = .legacy,
        kind: RecipientKind = .token,
        recipient: String = "T",
        validateOnly: Bool = false,
        delivery: DeliveryMode = .atLeastOnce
    ) throws -> String {
        let template = try XMPPTemplate(
            SourceMessage(
                Array(message.utf8),
                format: format,
                validateOnly: validateOnly,
                delivery: delivery,
                jobID: "job-1"
            )
        )
        var json: [UInt8] = []
        template.render(kind: kind, recipient: recipient, messageID: "m/1", into: &json)
        return String(decoding: json, as: UTF8.self)
    }

    @Test(arguments: [
        (RecipientKind.token, "T", #"{"to":"T","message_id":"m/1"}"#),
        (.group, "APA91bK", #"{"to":"APA91bK","message_id":"m/1"}"#),
        (.topic, "news", #"{"to":"/topics/news","message_id":"m/1"}"#),
        (.condition, "'a' in topics", #"{"condition":"'a' in topics","message_id":"m/1"}"#),
    ])
    func namesTheRecipient(kind: RecipientKind, recipient: String, json: String) throws {
        #expect(try Self.stanza("{}", kind: kind, recipient: recipient) == json)
    }

    @Test func carriesTheLegacyBody() throws {
        #expect(
            try Self.stanza(#"{"data":{"n":1},"time_to_live":600,"delivery_receipt_requested":true,"priority":null}"#)
                == #"{"to":"T","message_id":"m/1","data":{"n":"1"},"time_to_live":600,"delivery_receipt_requested":true}"#
        )
        // Escaping for XML is for whoever makes the stanza.
        #expect(try Self.stanza(#"{"data":{"x":"<&]]>\""}}"#).hasSuffix(#""data":{"x":"<&]]>\""}}"#))
    }

    @Test func validatingAndReplacingWorkAsInLegacy() throws {
        #expect(try Self.stanza("{}", validateOnly: true) == #"{"to":"T","message_id":"m/1","dry_run":true}"#)
        let marked = try Self.stanza(#"{"notification":{"title":"t"}}"#, delivery: .replace)
        #expect(marked.contains(#""collapse_key":""#) && marked.contains(#""tag":""#))
    }

    @Test func aV1MessageIsTranslated() throws {
        #expect(
            try Self.stanza(#"{"notification":{"title":"t"},"android":{"ttl":"5s"}}"#, .v1)
                == #"{"to":"T","message_id":"m/1","notification":{"title":"t"},"time_to_live":5}"#
        )
    }

    @Test func theMessagesLifetimeIsItsTimeToLive() throws {
        let template = try XMPPTemplate(
            SourceMessage(
                Array(#"{"time_to_live":60}"#.utf8),
                format: .legacy,
                validateOnly: false,
                delivery: .atLeastOnce,
                jobID: "j"
            )
        )
        #expect(template.lifetime?.milliseconds(firstAttemptMs: 1) == 60_000)
    }
}

@Suite struct XMPPMessageIDTests {
    static let ids: [(XMPPMessageID, String)] = [
        (XMPPMessageID(job: "j", index: 0, attempt: 1, nonce: 0), "j/0/1/0"),
        (XMPPMessageID(job: "1763730000000-0", index: 999, attempt: 7, nonce: 0xBEEF), "1763730000000-0/999/7/beef"),
        (
            XMPPMessageID(
                job: String(repeating: "a:._-Z9", count: 18),
                index: .max,
                attempt: .max,
                nonce: .max
            ),
            String(repeating: "a:._-Z9", count: 18) + "/9223372036854775807/9223372036854775807/ffffffffffffffff"
        ),
    ]

    @Test(arguments: ids)
    func comesBackAsItWas(id: XMPPMessageID, text: String) {
        #expect(id.description == text)
        #expect(XMPPMessageID(parsing: text) == id)
    }

    @Test(arguments: [
        "", "/", "///", "j", "j/0/1", "j/0/1/0/", "/0/1/0", "j/0/1/", "j//1/0", "j/-1/1/0", "j/+1/1/0", "j/01/1/0",
        "j/0/1/00", "j/0/1/BEEF", "j/0/1/g", "j/0/1/-1", " j/0/1/0", "j/0/1/0\n", "j/9223372036854775808/1/0",
        "j/0/1/10000000000000000", "é/0/1/0", "j k/0/1/0", "dr2:j/0/1/0x", "j\u{0}/0/1/0", "０/0/1/0", "j/０/1/0",
    ])
    func anythingElseIsNotOurs(text: String) {
        #expect(XMPPMessageID(parsing: text) == nil)
    }

    @Test func aLongIDIsNotReadAtAll() {
        #expect(XMPPMessageID(parsing: String(repeating: "a", count: 129) + "/0/1/0") == nil)
        #expect(XMPPMessageID(parsing: String(repeating: "/", count: 1_000_000)) == nil)
    }

    @Test func survivesAnything() {
        var generator = ResponseGenerator(seed: 0x1D)
        for _ in 0..<20_000 {
            let bytes = Array("job-1/17/2/beef".utf8).mutated(using: &generator)
            let text = String(decoding: bytes, as: UTF8.self)
            if let id = XMPPMessageID(parsing: text) { #expect(id.description == text) }
        }
    }
}
