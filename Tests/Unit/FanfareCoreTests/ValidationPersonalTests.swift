import FanfareCore
import FanfareJSON
import FanfareModel
import FanfareTemplate
import Testing

@Suite struct ValidationPersonalTests {
    static func check(
        _ message: String,
        _ variants: String? = nil,
        _ format: MessageFormat = .v1,
        over transport: Transport = .v1
    ) throws(EntryFault) -> PersonalMessages {
        let checker = PersonalMessageChecker(format: format, traits: transport.traits())
        return try checker.check(message: Array(message.utf8), variants: variants.map { Array($0.utf8) })
    }

    /// nil for accepted messages.
    static func reason(
        _ message: String,
        _ variants: String? = nil,
        _ format: MessageFormat = .v1,
        over transport: Transport = .v1
    ) -> String? {
        do throws(EntryFault) {
            _ = try check(message, variants, format, over: transport)
            return nil
        } catch { return error.reason }
    }

    @Test func variantIsMergedOverTheMessage() throws {
        let messages = try Self.check(
            #"{"notification":{"title":"Hi {{name}}","body":"b"},"android":{"ttl":"5s"}}"#,
            #"{"es":{"notification":{"title":"Hola {{name}}"},"android":null},"pt":{}}"#
        ).messages
        var names: [String?] = []
        _ = messages.map { name, _ in names.append(name) }
        #expect(names == [nil, "es", "pt"])
        #expect(messages.value(for: SharedText("es")) == ["notification": ["title": "Hola {{name}}", "body": "b"]])
        #expect(messages.value(for: SharedText("pt")) == messages.base)
        #expect(messages.base["android"] == ["ttl": "5s"])
        let merged = try PersonalMessageChecker.merge(
            message: Array(#"{"data":{"k":"{{a}}"}}"#.utf8),
            variants: Array(#"{"es":{"data":{"k":null}}}"#.utf8)
        )
        #expect(merged.base == ["data": ["k": "{{a}}"]])
        #expect(merged.value(for: SharedText("es")) == ["data": [:]])
    }

    static let accepted: [(String, MessageFormat, Transport)] = [
        (#"{"notification":{"title":"{{a}}","image":"{{a}}"},"data":{"k":"{{a|x}}"}}"#, .v1, .v1),
        (#"{"android":{"notification":{"color":"{{a}}","image":"ftp{{a}}","event_time":"{{a}}"}}}"#, .v1, .v1),
        (#"{"android":{"notification":{"vibrate_timings":["{{a}}s"],"visibility":"{{a}}"}}}"#, .v1, .v1),
        (#"{"webpush":{"fcm_options":{"link":"{{a}}"}},"apns":{"fcm_options":{"image":"{{a}}"}}}"#, .v1, .v1),
        (#"{"notification":{"badge":"{{a}}","color":"{{a|#00ff7f}}","sound":{"name":"{{a}}"}}}"#, .legacy, .legacy),
        (#"{"notification":{"title_loc_args":"[\"{{a}}\"]"},"data":{"o":{"k":["{{a}}",1]}}}"#, .legacy, .xmpp),
    ]

    @Test(arguments: accepted)
    func placeholderHasAnyFormatWhereItMayStand(message: String, format: MessageFormat, transport: Transport) {
        #expect(Self.reason(message, nil, format, over: transport) == nil)
        #expect(Self.reason("{}", "{\"es\":\(message)}", format, over: transport) == nil)
    }

    static let refused: [(String, MessageFormat, String)] = [
        // Where no placeholder may stand, and malformed ones.
        (#"{"android":{"collapse_key":"{{a}}"}}"#, .v1, "android.collapse_key: a placeholder is not allowed here"),
        (#"{"android":{"ttl":"{{a}}s"}}"#, .v1, "android.ttl: a placeholder is not allowed here"),
        (#"{"data":{"{{a}}":"x"}}"#, .v1, "data.{{a}}: a placeholder is not allowed in a name"),
        (#"{"data":{"\n{{a}}":"x"}}"#, .v1, #"data.\u{a}{{a}}: a placeholder is not allowed in a name"#),
        (#"{"data":{"k":"{{a"}}"#, .v1, "data.k: the placeholder at byte 0 has no closing }}"),
        // The rules of every message.
        (#"{"notification":{"titel":"{{a}}"}}"#, .v1, "notification.titel: unknown field"),
        (#"{"data":{"k":1}}"#, .v1, "data.k: must be a string, not a number"),
        (#"{"data":{"from":"{{a}}"}}"#, .v1, "data.from: reserved key"),
        (#"{"android":{},"androidV2":{}}"#, .v1, "androidV2: not together with android"),
        (
            #"{"apns":{"headers":{"apns-priority":"10"}},"data":{"k":"{{a}}"}}"#, .v1,
            "apns.headers.apns-priority: 10 is not allowed for a message of data only, give 5"
        ),
        (
            #"{"android":{"notification":{"sticky":"{{a}}"}}}"#, .v1,
            "android.notification.sticky: must be true or false, not a string"
        ),
        // A doubled brace is text.
        (
            #"{"android":{"notification":{"color":"{{{{"}}}"#, .v1,
            "android.notification.color: \"{{{{\" is not a color such as #00ff7f"
        ),
        (
            #"{"android":{"notification":{"visibility":"{{{{"}}}"#, .v1,
            "android.notification.visibility: \"{{{{\" is not one of VISIBILITY_UNSPECIFIED, PRIVATE, PUBLIC, SECRET"
        ),
        (#"{"notification":{"badge":"x"}}"#, .legacy, "notification.badge: \"x\" is not a number in digits"),
        (
            #"{"notification":{"body_loc_args":"[{{a}}]"}}"#, .legacy,
            "notification.body_loc_args: not a JSON array in a string, at byte 2: an object's member must start with a "
                + "name in double quotes"
        ),
        (#"{"token":"x"}"#, .v1, "token: the target is a field of the entry"),
        (#"{"condition":"x"}"#, .legacy, "condition: the target is a field of the entry"),
        (#"{"message_id":"x"}"#, .legacy, "message_id: chosen by the worker"),
    ]

    @Test(arguments: refused)
    func brokenRuleIsNamedInMessageAndVariant(message: String, format: MessageFormat, rule: String) {
        #expect(Self.reason(message, nil, format, over: format == .v1 ? .v1 : .legacy) == "message.\(rule)")
        let variants = "{\"a\":{},\"es-MX\":\(message)}"
        #expect(Self.reason("{}", variants, format, over: format == .v1 ? .v1 : .legacy) == "variants.es-MX.\(rule)")
    }

    static let malformed: [(String, String, String)] = [
        ("[]", "{}", "message: must be an object, not an array"),
        ("{", "{}", "message: not JSON at byte 1: an object's member must start with a name in double quotes"),
        (#"{"data":{"k":"","k":""}}"#, "{}", "message.data.k: given more than once"),
        ("{}", "", "variants: not JSON at byte 0: the text ends where a value should be"),
        ("{}", "[]", "variants: must be an object, not an array"),
        ("{}", #"{"es":"x"}"#, "variants.es: must be an object, not a string"),
        ("{}", #"{"es":null}"#, "variants.es: must be an object, not null"),
        ("{}", #"{"es":{},"es":{}}"#, "variants.es: given more than once"),
        ("{}", #"{"es":{"data":{"k":"","k":""}}}"#, "variants.es.data.k: given more than once"),
        ("{}", #"{"es":{"topic":null}}"#, "variants.es.topic: the target is a field of the entry"),
        ("{}", #"{"\u0000":{"x":1}}"#, #"variants.\u{0}.x: unknown field"#),
        // Each is correct alone.
        (
            #"{"android":{"collapseKey":"a"}}"#, #"{"es":{"android":{"collapse_key":"b"}}}"#,
            "variants.es.android.collapse_key: also given as collapseKey"
        ),
        (
            #"{"notification":{"title":"x"},"apns":{"headers":{"apns-priority":"10"}}}"#,
            #"{"es":{"notification":null}}"#,
            "variants.es.apns.headers.apns-priority: 10 is not allowed for a message of data only, give 5"
        ),
    ]

    @Test(arguments: malformed)
    func malformedVariantIsNamed(message: String, variants: String, reason: String) {
        #expect(Self.reason(message, variants) == reason)
    }

    @Test func variantsAreBounded() {
        func variants(_ count: Int) -> String {
            "{" + (0..<count).map { "\"v\($0)\":{}" }.joined(separator: ",") + "}"
        }
        #expect(Self.reason("{}", variants(100)) == nil)
        #expect(Self.reason("{}", variants(101)) == "variants: 101 names, at most 100")
        let space = String(repeating: " ", count: 1_048_576)
        #expect(Self.reason("{}", "{\(space.dropLast(2))}") == nil)
        #expect(Self.reason("{}", "{\(space)}") == "variants: 1048578 bytes of JSON, at most 1048576")
        #expect(Self.reason(space, nil) == "message: 1048576 bytes of JSON, at most 65536")
        let half = String(repeating: "x", count: 40_000)
        #expect(
            Self.reason(
                #"{"webpush":{"headers":{"a":"\#(half)"}}}"#,
                #"{"es":{"webpush":{"headers":{"b":"\#(half)"}}}}"#
            )
                == "variants.es: 80039 bytes of JSON when merged, at most 65536"
        )
    }

    @Test func namesOfPlaceholdersAreBoundedInTheMergedMessage() {
        func data(_ range: Range<Int>) -> String {
            "{\"data\":{" + range.map { "\"k\($0)\":\"{{n\($0)}}\"" }.joined(separator: ",") + "}}"
        }
        #expect(Self.reason(data(0..<20), "{\"es\":\(data(20..<32))}") == nil)
        #expect(
            Self.reason(data(0..<20), "{\"es\":\(data(20..<33))}")
                == "variants.es: 33 names of placeholders, at most 32"
        )
    }

    @Test func constantPartIsWithinTheLimit() {
        func data(_ count: Int) -> String {
            #"{"data":{"k":"{{a}}\#(String(repeating: "v", count: count)){{b|fallback}}"}}"#
        }
        #expect(Self.reason(data(4_095)) == nil)
        #expect(Self.reason(data(4_096)) == "message.data: 4097 bytes, at most 4096")
        #expect(Self.reason("{}", "{\"es\":\(data(4_096))}") == "variants.es.data: 4097 bytes, at most 4096")
        #expect(
            Self.reason(#"{"notification":{"title":"xxxxx"}}"#, "{\"es\":\(data(4_090))}")
                == "variants.es: 4101 bytes of data and notification, at most 4096"
        )
        #expect(
            Self.reason(#"{"android":{"notification":{"title":"xxxxx"}}}"#, "{\"es\":\(data(4_090))}")
                == "variants.es.android: 4101 bytes with what it inherits, at most 4096"
        )
    }
}
