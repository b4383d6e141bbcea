import FCMWire
import FanfareJSON
import FanfareModel
import FanfareTemplate
import Testing

/// Rules of translation that read a text: which of them accept a placeholder.
@Suite struct PersonalTextTests {
    private static let unclear = "whether this is an address must be clear before the first placeholder"
    private static let stray = "a placeholder must stand within one string, its braces without escapes"
    private static let (v1, legacy, xmpp) = (Wire(.v1), Wire(.legacy), Wire(.xmpp))

    static let accepted: [(String, MessageFormat, Wire)] = [
        // The scheme stands before the first placeholder, or the text cannot have one.
        (#"{"notification":{"icon":"https://x/{{a}}"}}"#, .legacy, v1),
        (#"{"notification":{"icon":"HTTP://{{a}}"}}"#, .legacy, v1),
        (#"{"notification":{"icon":"ic_{{a}}"}}"#, .legacy, v1),
        (#"{"notification":{"icon":"{{{{{{a}}"}}"#, .legacy, v1),
        (#"{"notification":{"icon":"{{{{http{{a}}"}}"#, .legacy, v1),
        (#"{"notification":{"click_action":"http:/{{a}}"}}"#, .legacy, v1),
        (#"{"notification":{"click_action":"https://x"}}"#, .legacy, v1),
        (#"{"webpush":{"notification":{"icon":"httpx{{a}}"}}}"#, .v1, legacy),
        // What is not translated is not read.
        (#"{"notification":{"icon":"{{a}}","click_action":"{{a}}","badge":"{{a}}"}}"#, .legacy, legacy),
        (#"{"notification":{"icon":"{{a}}","click_action":"{{a}}","badge":"{{a}}"}}"#, .legacy, xmpp),
        (#"{"webpush":{"notification":{"icon":"{{a}}"},"fcm_options":{"link":"{{a}}"}}}"#, .v1, v1),
        (#"{"android":{"notification":{"event_time":"{{a}}","color":"{{a}}","visibility":"{{a}}"}}}"#, .v1, v1),
        // A text without a rule.
        (#"{"notification":{"color":"{{a}}","sound":"{{a}}","tag":"{{a}}"}}"#, .legacy, v1),
        (#"{"android":{"notification":{"color":"{{a}}","icon":"{{a}}","sound":"{{a}}"}}}"#, .v1, legacy),
        (#"{"android":{"notification":{"clickAction":"{{a}}"}}}"#, .v1, legacy),
        (#"{"webpush":{"fcm_options":{"link":"{{a}}"}}}"#, .v1, legacy),
        (#"{"notification":{"title_loc_args":"[\"{{a}}\",\"{{a|\\\"}}\"]"}}"#, .legacy, v1),
        (#"{"notification":{"title_loc_args":["{{a}}"]}}"#, .legacy, v1),
    ]

    @Test(arguments: accepted)
    func placeholderIsAcceptedAndFilled(message: String, format: MessageFormat, wire: Wire) throws {
        let object = try PersonalTemplateTests.object(message)
        let template = try PersonalTemplate(object, .job(format), wire)
        for value in ["", "Ana", "https://y", "s://y", "\"", "/\u{301}", "\u{301}"] {
            let filled = FilledMessage(object, ["a": value], format).message
            let expected = try wire.ordinary(filled, .job(format), nowMs: 1_000_999)
            #expect(try template.rendered(try .of(["a": value])) == expected, "\(value)")
        }
    }

    static let refused: [(String, MessageFormat, Wire, String)] = [
        (#"{"notification":{"icon":"{{a}}"}}"#, .legacy, v1, "message.notification.icon: \(unclear)"),
        (#"{"notification":{"icon":"Http{{a}}"}}"#, .legacy, v1, "message.notification.icon: \(unclear)"),
        (#"{"notification":{"icon":"http:/{{a}}"}}"#, .legacy, v1, "message.notification.icon: \(unclear)"),
        (
            #"{"notification":{"click_action":"https:/{{a}}"}}"#, .legacy, v1,
            "message.notification.click_action: \(unclear)"
        ),
        (#"{"notification":{"click_action":"{{a|x}}"}}"#, .legacy, v1, "message.notification.click_action: \(unclear)"),
        (
            #"{"webpush":{"notification":{"icon":"{{a}}"}}}"#, .v1, legacy,
            "message.webpush.notification.icon: \(unclear)"
        ),
        (
            #"{"webpush":{"notification":{"icon":"http://{{a}}"}}}"#, .v1, legacy,
            "message.webpush.notification.icon: must be an https address"
        ),
        (
            #"{"notification":{"badge":"{{a}}"}}"#, .legacy, v1,
            "message.notification.badge: must be a whole number, written as a string"
        ),
        (
            #"{"apns":{"payload":{"aps":{"badge":"{{a}}"}}}}"#, .v1, legacy,
            "message.apns.payload.aps.badge: must be a whole number, 0 or more"
        ),
        (
            #"{"apns":{"payload":{"aps":{"mutable-content":"{{a}}"}}}}"#, .v1, legacy,
            "message.apns.payload.aps.mutable-content: must be 0 or 1"
        ),
        (
            #"{"android":{"notification":{"visibility":"{{a}}"}}}"#, .v1, legacy,
            "message.android.notification.visibility: has no counterpart in legacy"
        ),
        (
            #"{"notification":{"title":"{{a}}"},"android":{"notification":{"title":"{{b}}"}}}"#, .v1, legacy,
            "message.android.notification.title: differs from message.notification.title; "
                + "legacy has one value for all platforms"
        ),
    ]

    @Test(arguments: refused)
    func textThatTranslationReadsIsRefused(message: String, format: MessageFormat, wire: Wire, reason: String) {
        #expect(throws: TranslationError(reason: reason)) {
            try PersonalTemplate(try PersonalTemplateTests.object(message), .job(format), wire)
        }
    }

    static let strays: [String] = [
        // Braces that only a parser sees.
        #"["\u007b{a}}"]"#, #"["{\u007Ba}}"]"#, #"["{{a|x\u007d\u007dy}}"]"#, #"["\u007b\u007b{{a}}"]"#,
        // A placeholder that ends one string and begins another.
        #"["{{a|x","y}}"]"#, #"["\u007b{{a}}"]"#, #"["{{a|","{{{{}}"]"#,
    ]

    @Test(arguments: strays, Wire.all.filter { $0.body == .json })
    func argumentsInWhichAPlaceholderIsNoTextAreRefused(arguments: String, wire: Wire) {
        #expect(throws: TranslationError(reason: "message.notification.title_loc_args: \(Self.stray)")) {
            try PersonalTemplate(
                ["notification": ["title_loc_args": .string(arguments)]],
                .job(.legacy),
                wire
            )
        }
    }

    @Test(arguments: ["{{a}}", "[{{a}}]", #"["x",{{a|"y"}}]"#], Wire.all.filter { $0.body == .json })
    func argumentsThatAreNoJSONWithoutValuesAreRefused(arguments: String, wire: Wire) {
        let rule = "must be a JSON array of strings, written as a string"
        #expect(throws: TranslationError(reason: "message.notification.body_loc_args: \(rule)")) {
            try PersonalTemplate(["notification": ["body_loc_args": .string(arguments)]], .job(.legacy), wire)
        }
    }

    @Test(arguments: Wire.all.filter { $0.body == .json })
    func valueCannotAddAnArgument(wire: Wire) throws {
        let message = #"{"notification":{"body_loc_args":" [\"{{a}}\",\"{{{{\"]"}}"#
        let request = try PersonalTemplateTests.request(message, .legacy, wire, ["a": "x\",\"y\\"])
        let body = try #require(try JSONParser.parse(Array(request.utf8)).object)
        let text = body["notification"]?.object?["body_loc_args"]?.string
        let android = body["message"]?.object?["android"]?.object?["notification"]?.object
        let list = try text.map { try JSONParser.parse(Array($0.utf8)) } ?? android?["bodyLocArgs"]
        #expect(list == ["x\",\"y\\", "{{"])
    }
}
