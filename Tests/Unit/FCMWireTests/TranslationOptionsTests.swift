import FCMWire
import FanfareJSON
import FanfareModel
import Testing

/// One row for every option of the legacy tables and of the v1 schema, in every direction: what it becomes, or the rule
/// by which it is refused under its own name.
@Suite struct TranslationOptionsTests {
    /// How a message travels.
    enum Way: CaseIterable { case v1, legacy, text, xmpp }

    /// The message for the token `T`; over v1 what is inside `message`, over XMPP without the id, and as text a form.
    static func render(_ message: String, _ format: MessageFormat, over way: Way) throws -> String {
        var body: [UInt8] = []
        let bytes = Array(message.utf8)
        switch way {
        case .v1: return try rendered(message, format, over: .v1)
        case .legacy: return try rendered(message, format, over: .legacy)
        case .text:
            let template = try PlainTextTemplate(
                SourceMessage(bytes, format: format, validateOnly: false, delivery: .atLeastOnce, jobID: "j")
            )
            template.render(token: "T", into: &body)
        case .xmpp:
            let template = try XMPPTemplate(
                SourceMessage(bytes, format: format, validateOnly: false, delivery: .atLeastOnce, jobID: "j")
            )
            template.render(kind: .token, recipient: "T", messageID: "m", into: &body)
        }
        return String(decoding: body, as: UTF8.self)
    }

    // MARK: legacy options

    /// An option, a value of it, the places of a v1 message that then hold it, and whether it is a field of plain text
    /// and of XMPP.
    struct LegacyOption: Sendable {
        var path: String
        var value: String
        var v1: [(String, String)]
        var asText = false
        var overXMPP = true

        var message: String { nested(path, value) }
    }

    /// Tables 1 and 2a to 2c of the references, and `delay_while_idle`, which older senders still write.
    static let legacyOptions: [LegacyOption] = [
        LegacyOption(
            path: "collapse_key",
            value: #""k""#,
            v1: [
                ("android.collapseKey", #""k""#), ("webpush.headers.Topic", #""k""#),
                ("apns.headers.apns-collapse-id", #""k""#),
            ],
            asText: true
        ),
        LegacyOption(
            path: "priority",
            value: #""high""#,
            v1: [("android.priority", #""HIGH""#), ("webpush.headers.Urgency", #""high""#)]
        ),
        LegacyOption(path: "content_available", value: "true", v1: [("apns.payload.aps.content-available", "1")]),
        LegacyOption(path: "mutable_content", value: "true", v1: [("apns.payload.aps.mutable-content", "1")]),
        LegacyOption(
            path: "time_to_live",
            value: "60",
            v1: [
                ("android.ttl", #""60s""#), ("webpush.headers.TTL", #""60""#),
                ("apns.headers.apns-expiration", #""1060""#),
            ],
            asText: true
        ),
        LegacyOption(
            path: "restricted_package_name",
            value: #""p""#,
            v1: [("android.restrictedPackageName", #""p""#)],
            asText: true,
            overXMPP: false
        ),
        LegacyOption(path: "dry_run", value: "true", v1: [], asText: true),
        LegacyOption(path: "delay_while_idle", value: "true", v1: []),
        LegacyOption(path: "data.k", value: #""v""#, v1: [("data.k", #""v""#)], asText: true),
        LegacyOption(path: "notification.title", value: #""t""#, v1: [("notification.title", #""t""#)]),
        LegacyOption(path: "notification.body", value: #""b""#, v1: [("notification.body", #""b""#)]),
        LegacyOption(path: "notification.subtitle", value: #""s""#, v1: [("apns.payload.aps.alert.subtitle", #""s""#)]),
        LegacyOption(
            path: "notification.sound",
            value: #""x""#,
            v1: [("android.notification.sound", #""x""#), ("apns.payload.aps.sound", #""x""#)]
        ),
        LegacyOption(path: "notification.badge", value: #""3""#, v1: [("apns.payload.aps.badge", "3")]),
        LegacyOption(path: "notification.icon", value: #""i""#, v1: [("android.notification.icon", #""i""#)]),
        LegacyOption(
            path: "notification.android_channel_id",
            value: #""c""#,
            v1: [("android.notification.channelId", #""c""#)]
        ),
        LegacyOption(path: "notification.tag", value: #""g""#, v1: [("android.notification.tag", #""g""#)]),
        LegacyOption(
            path: "notification.color",
            value: ##""#112233""##,
            v1: [("android.notification.color", ##""#112233""##)]
        ),
        LegacyOption(
            path: "notification.click_action",
            value: #""https://x""#,
            v1: [
                ("android.notification.clickAction", #""https://x""#), ("apns.payload.aps.category", #""https://x""#),
                ("webpush.fcmOptions.link", #""https://x""#),
            ]
        ),
        LegacyOption(
            path: "notification.body_loc_key",
            value: #""K""#,
            v1: [("android.notification.bodyLocKey", #""K""#), ("apns.payload.aps.alert.loc-key", #""K""#)]
        ),
        LegacyOption(
            path: "notification.body_loc_args",
            value: #""[\"1\"]""#,
            v1: [("android.notification.bodyLocArgs", #"["1"]"#), ("apns.payload.aps.alert.loc-args", #"["1"]"#)]
        ),
        LegacyOption(
            path: "notification.title_loc_key",
            value: #""K""#,
            v1: [("android.notification.titleLocKey", #""K""#), ("apns.payload.aps.alert.title-loc-key", #""K""#)]
        ),
        LegacyOption(
            path: "notification.title_loc_args",
            value: #""[\"1\"]""#,
            v1: [
                ("android.notification.titleLocArgs", #"["1"]"#), ("apns.payload.aps.alert.title-loc-args", #"["1"]"#),
            ]
        ),
    ]

    @Test func everyLegacyOptionHasItsPlacesInV1() throws {
        for option in Self.legacyOptions {
            let body = try JSONParser.parse(Array(try Self.render(option.message, .legacy, over: .v1).utf8))
            let message = try #require(body.object?["message"])
            for (path, value) in option.v1 {
                let found = path.split(separator: ".").reduce(message as JSONValue?) { $0?.object?[String($1)] }
                #expect(found?.jsonText == value, "\(option.path): \(path)")
            }
        }
        #expect(try Self.render(#"{"dry_run":true}"#, .legacy, over: .v1).hasSuffix(#","validateOnly":true}"#))
    }

    @Test func everyLegacyOptionTravelsAsItIsOrIsRefusedByName() throws {
        for option in Self.legacyOptions {
            let members = String(option.message.dropFirst())
            #expect(try Self.render(option.message, .legacy, over: .legacy) == #"{"to":"T","# + members)
            let top = option.path.split(separator: ".")[0]
            if option.overXMPP {
                let stanza = try Self.render(option.message, .legacy, over: .xmpp)
                #expect(stanza == #"{"to":"T","message_id":"m","# + members)
            } else {
                #expect(throws: TranslationError(reason: "message.\(top): has no counterpart over XMPP")) {
                    try Self.render(option.message, .legacy, over: .xmpp)
                }
            }
            if option.asText {
                let text = option.value.filter { $0 != "\"" }
                #expect(
                    try Self.render(option.message, .legacy, over: .text) == "registration_id=T&\(option.path)=\(text)"
                )
            } else {
                #expect(throws: TranslationError(reason: "message.\(top): has no counterpart in plain text")) {
                    try Self.render(option.message, .legacy, over: .text)
                }
            }
        }
    }

    @Test func receiptsAreAskedForOverXMPPAlone() throws {
        let message = #"{"delivery_receipt_requested":true}"#
        #expect(
            try Self.render(message, .legacy, over: .xmpp)
                == #"{"to":"T","message_id":"m","delivery_receipt_requested":true}"#
        )
        for (way, place) in [(Way.v1, "over HTTP"), (.legacy, "over HTTP"), (.text, "in plain text")] {
            let reason = "message.delivery_receipt_requested: has no counterpart \(place)"
            #expect(throws: TranslationError(reason: reason)) { try Self.render(message, .legacy, over: way) }
        }
    }

    /// What an unknown field might do to a stanza, nobody can say: `message_type` would make an ack of it.
    @Test(arguments: ["message_type", "message_id", "registration_id", "error", "control_type"])
    func anUnknownFieldDoesNotReachAStanza(field: String) {
        #expect(throws: TranslationError.self) { try Self.render(#"{"\#(field)":"x"}"#, .legacy, over: .xmpp) }
    }
}

/// A JSON object with a value at the end of a dotted path.
func nested(_ path: String, _ value: String) -> String {
    path.split(separator: ".").reversed().reduce(value) { #"{"\#($1)":\#($0)}"# }
}
