import FCMWire
import FanfareJSON
import FanfareModel
import FanfareTemplate
import Testing

@Suite struct PersonalTemplateTests {
    static func object(_ text: String) throws -> JSONObject {
        try #require(try JSONParser.parse(Array(text.utf8)).object)
    }

    static func request(
        _ message: String,
        _ format: MessageFormat,
        _ wire: Wire,
        _ values: [String: String],
        delivery: DeliveryMode = .atLeastOnce,
        nowMs: Int64 = 1_000_999
    ) throws -> String {
        let template = try PersonalTemplate(try object(message), .job(format, delivery: delivery), wire)
        return String(decoding: try template.rendered(try .of(values), nowMs: nowMs), as: UTF8.self)
    }

    static let requests: [(Wire, String)] = [
        (Wire(.v1), #"{"message":{"token":"T:1","notification":{"title":"Hi \"Ana\""}}}"#),
        (Wire(.legacy), #"{"to":"T:1","notification":{"title":"Hi \"Ana\""}}"#),
        (Wire(.xmpp), #"{"to":"T:1","message_id":"m/1","notification":{"title":"Hi \"Ana\""}}"#),
    ]

    @Test(arguments: requests)
    func valueIsWrittenOnEachTransport(wire: Wire, request: String) throws {
        let message = #"{"notification":{"title":"Hi {{name|you}}"}}"#
        #expect(try Self.request(message, .v1, wire, ["name": "\"Ana\""]) == request)
        #expect(
            try Self.request(message, .v1, wire, [:]) == request.replacing(#"\"Ana\""#, with: "you")
        )
    }

    @Test func valueIsPercentEncodedInPlainText() throws {
        let message = #"{"data":{"k":"Hi {{name}}","o":{"n":"{{name}}"}}}"#
        #expect(
            try Self.request(message, .legacy, Wire(.legacy, .text), ["name": "\"A&b"])
                == "registration_id=T%3A1&data.k=Hi%20%22A%26b&data.o=%7B%22n%22%3A%22%5C%22A%26b%22%7D"
        )
    }

    @Test func momentOfExpirationIsThatOfTheAttempt() throws {
        let message = #"{"time_to_live":60,"data":{"k":"{{a}}"},"dry_run":true}"#
        for (nowMs, second) in [(Int64(1_000_999), 1_060), (99_999_000, 100_059)] {
            let request = try Self.request(message, .legacy, Wire(.v1), ["a": "apns-expiration\":\""], nowMs: nowMs)
            #expect(request.contains(#""k":"apns-expiration\":\"""#))
            #expect(request.hasSuffix(#""apns-expiration":"\#(second)"}}},"validateOnly":true}"#))
        }
        let zero = try Self.request(#"{"time_to_live":0,"data":{"k":"{{a}}"}}"#, .legacy, Wire(.v1), ["a": ""])
        #expect(zero.hasSuffix(#""apns-expiration":"0"}}}}"#))
    }

    @Test func installationIDIsNamedAsSuch() throws {
        let template = try PersonalTemplate(try Self.object(#"{"data":{"k":"{{a}}"}}"#), .job(.v1), Wire(.v1))
        let bytes = try template.rendered(try .of(["a": "x"], token: "F", kind: .fid))
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"message":{"fid":"F","data":{"k":"x"}}}"#)
    }

    static func variants() throws -> VariantTable<JSONObject> {
        VariantTable(
            base: try object(#"{"data":{"k":"Hi {{name}}"},"android":{"ttl":"60s"}}"#),
            variants: [
                ("es", try object(#"{"data":{"k":"Hola {{name}} {{surname}}"},"android":{"ttl":"5s"}}"#)),
                ("pt", try object(#"{"data":{"k":"Oi"}}"#)),
            ]
        )
    }

    static let lookups: [(String?, String, Int64?)] = [
        (nil, "Hi Ana", 60_000), ("de", "Hi Ana", 60_000), ("es-MX", "Hola Ana Paz", 5_000), ("pt", "Oi", nil),
    ]

    @Test(arguments: lookups)
    func recipientGetsItsVariant(variant: String?, text: String, lifetime: Int64?) throws {
        let template = try PersonalTemplate(try Self.variants(), .job(.v1), transport: .v1, legacyBody: .json)
        let recipient = try RecipientElement.of(["name": "Ana", "surname": "Paz"], variant: variant)
        let request = String(decoding: try template.rendered(recipient), as: UTF8.self)
        #expect(request.contains("\"data\":{\"k\":\"\(text)\"}"))
        #expect(
            template.lifetime(for: recipient.variant)?.milliseconds(firstAttemptMs: 1_000) == lifetime
        )
    }

    @Test func missingValueIsNamedAndLeavesTheBody() throws {
        let template = try PersonalTemplate(try Self.variants(), .job(.v1), transport: .v1, legacyBody: .json)
        for (variant, name) in [(String?.none, "name"), ("es", "surname")] {
            let recipient = try RecipientElement.of(variant == nil ? [:] : ["name": "Ana"], variant: variant)
            var body = Array("head".utf8)
            #expect(throws: TemplateFault("vars.\(name)", "missing")) {
                try template.render(recipient, messageID: "", nowMs: 0, into: &body)
            }
            #expect(throws: TemplateFault("vars.\(name)", "missing")) { try template.check(recipient) }
            #expect(body == Array("head".utf8))
        }
        // No placeholder of this variant needs a value.
        try template.check(try .of([:], variant: "pt"))
    }

    @Test func malformedValuesFailTheRecipient() throws {
        let template = try PersonalTemplate(try Self.object("{}"), .job(.v1), Wire(.v1))
        let bytes = Array(#"{"token":"T","vars":{"a":null}}"#.utf8)
        let recipient = try RecipientElement(bytes.indices, of: bytes)
        let fault = TemplateFault("vars.a", "must be a string, a number or a boolean, not null")
        #expect(throws: fault) { try template.check(recipient) }
        #expect(throws: fault) { try template.rendered(recipient) }
    }

    @Test func variantWithoutACounterpartIsNamed() throws {
        let bad = try Self.object(#"{"androidV2":{"backgroundSync":{}}}"#)
        let variants = VariantTable<JSONObject>(base: [:], variants: [("b\n", bad), ("c", bad)])
        #expect(throws: TranslationError(reason: "variants.b?.androidV2: has no counterpart in legacy")) {
            try PersonalTemplate(variants, .job(.v1), transport: .legacy, legacyBody: .json) { _ in "b?" }
        }
        let target = VariantTable<JSONObject>(base: [:], variants: [("es", ["topic": "x"])])
        #expect(throws: TranslationError(reason: "variants.es.topic: the target belongs in the job's own field")) {
            try PersonalTemplate(target, .job(.v1), transport: .v1, legacyBody: .json)
        }
        #expect(throws: TranslationError(reason: "message.topic: the target belongs in the job's own field")) {
            try PersonalTemplate(["topic": "x"], .job(.v1), Wire(.v1))
        }
    }

    @Test func malformedPlaceholderIsRefused() {
        #expect(throws: TranslationError.self) { try PersonalTemplate(["data": ["k": "{{"]], .job(.v1), Wire(.v1)) }
        #expect(throws: TranslationError.self) {
            try PersonalTemplate(["data": ["k": "{{"]], .job(.legacy), Wire(.legacy, .text))
        }
    }

    @Test func bracesOfOrdinaryJobsAreText() throws {
        #expect(
            try rendered(#"{"data":{"k":"{{a}} {{{{"}}"#, .v1, over: .v1)
                == #"{"message":{"token":"T","data":{"k":"{{a}} {{{{"}}}"#
        )
    }

    @Test func tagWithPlaceholdersIsTheMessagesOwn() throws {
        let message = #"{"notification":{"tag":"{{order}}"},"collapse_key":"k"}"#
        #expect(
            try Self.request(message, .legacy, Wire(.legacy), ["order": ""], delivery: .replace)
                == #"{"to":"T:1","notification":{"tag":""},"collapse_key":"k"}"#
        )
    }
}
