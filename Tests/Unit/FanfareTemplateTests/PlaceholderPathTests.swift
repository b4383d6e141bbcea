import FanfareJSON
import FanfareTemplate
import Testing

@Suite struct PlaceholderPathTests {
    static func check(_ text: String, at path: String = "message") throws -> [String] {
        let message = try #require(try JSONParser.parse(Array(text.utf8)).object)
        return try PlaceholderPaths.check(message, at: path).map(\.text)
    }

    static let allowed: [String] = [
        #"{"notification":{"title":"{{a}}","body":"{{a|x}}","image":"https://x/{{a}}"}}"#,
        #"{"data":{"k":"{{a}}"}}"#, #"{"data":{"k":{"deep":["{{a}}"]}}}"#,
        #"{"android":{"notification":{"title":"{{a}}","title_loc_args":["{{a}}"]},"data":{"k":"{{a}}"}}}"#,
        #"{"apns":{"payload":{"aps":{"alert":{"title":"{{a}}","loc-args":["{{a}}"]}},"own":"{{a}}"}}}"#,
        #"{"webpush":{"notification":{"title":"{{a}}","actions":[{"title":"{{a}}"}]},"data":{"k":"{{a}}"}}}"#,
        #"{"webpush":{"fcm_options":{"link":"https://x/{{a}}"}}}"#,
        #"{"webpush":{"fcmOptions":{"link":"https://x/{{a}}"}}}"#,
        #"{"apns":{"fcm_options":{"image":"{{a}}"}}}"#, #"{"apns":{"fcmOptions":{"image":"{{a}}"}}}"#,
        #"{"androidV2":{"remoteNotification":{"notification":{"image":"{{a}}"}}}}"#,
        #"{"android_v2":{"remote_notification":{"notification":{"image":"{{a}}"}}}}"#,
    ]

    @Test(arguments: allowed)
    func placeholdersStandInTextsAndLinks(message: String) throws {
        #expect(try Self.check(message) == ["a"])
    }

    static let refused: [(String, String)] = [
        (#"{"android":{"collapse_key":"{{a}}"}}"#, "message.android.collapse_key"),
        (#"{"android":{"collapseKey":"x{{a}}"}}"#, "message.android.collapseKey"),
        (#"{"collapse_key":"{{a|x}}"}"#, "message.collapse_key"), (#"{"topic":"{{a}}"}"#, "message.topic"),
        (#"{"android":{"ttl":"{{a}}s"}}"#, "message.android.ttl"),
        (#"{"android":{"title":"{{a}}"}}"#, "message.android.title"),
        (#"{"apns":{"headers":{"apns-collapse-id":"{{a}}"}}}"#, "message.apns.headers.apns-collapse-id"),
        (#"{"apns":{"headers":{"image":"{{a}}"}}}"#, "message.apns.headers.image"),
        (#"{"apns":{"data":{"k":"{{a}}"}}}"#, "message.apns.data.k"),
        (#"{"apns":{"notification":{"title":"{{a}}"}}}"#, "message.apns.notification.title"),
        (#"{"android":{"payload":{"k":"{{a}}"}}}"#, "message.android.payload.k"),
        (#"{"webpush":{"headers":{"Topic":"{{a}}"}}}"#, "message.webpush.headers.Topic"),
        (#"{"webpush":{"link":"{{a}}"}}"#, "message.webpush.link"),
        (#"{"fcm_options":{"analytics_label":"{{a}}"}}"#, "message.fcm_options.analytics_label"),
        (#"{"apns":{"fcm_options":{"analytics_label":"{{a}}"}}}"#, "message.apns.fcm_options.analytics_label"),
        (
            #"{"androidV2":{"remoteNotification":{"notification":{"title":"{{a}}"}}}}"#,
            "message.androidV2.remoteNotification.notification.title"
        ),
        (#"{"x":[1,["{{a}}"]]}"#, "message.x[1][0]"), (#"{"payload":{"x":"{{a}}"}}"#, "message.payload.x"),
        (#"{"datas":"{{a}}"}"#, "message.datas"),
        // No text needs a doubled brace where no placeholder is allowed.
        (#"{"collapse_key":"{{{{"}"#, "message.collapse_key"), (#"{"collapse_key":"{{"}"#, "message.collapse_key"),
    ]

    @Test(arguments: refused)
    func placeholdersElsewhereAreRefusedByPath(message: String, path: String) {
        #expect(throws: TemplateFault(path, "a placeholder is not allowed here")) { try Self.check(message) }
    }

    static let names: [(String, String)] = [
        (#"{"data":{"{{a}}":"x"}}"#, "message.data.{{a}}"), (#"{"{{a}}":1}"#, "message.{{a}}"),
        (#"{"data":{"k":[{"{{{{":1}]}}"#, "message.data.k[0].{{{{"),
    ]

    @Test(arguments: names)
    func placeholdersInNamesAreRefused(message: String, path: String) {
        #expect(throws: TemplateFault(path, "a placeholder is not allowed in a name")) { try Self.check(message) }
    }

    @Test func malformedPlaceholderNamesItsPathAndByte() {
        let fault = TemplateFault("variants.es.data.k[1]", PlaceholderError.unclosed(offset: 3).rule)
        #expect(fault.reason == "variants.es.data.k[1]: the placeholder at byte 3 has no closing }}")
        #expect(throws: fault) { try Self.check(#"{"data":{"k":["{{a}}","hi {{b"]}}"#, at: "variants.es") }
    }

    @Test func otherTextIsLeftAlone() throws {
        let message = #"{"collapse_key":"{a} {","priority":5,"x":[null,true],"data":{"k":"{{{{a}}}}"}}"#
        #expect(try Self.check(message) == [])
    }

    @Test func pathsUseTheCallersSpellingOfNames() throws {
        let message: JSONObject = ["a\nb": "{{x}}"]
        #expect(throws: TemplateFault("message.?", "a placeholder is not allowed here")) {
            try PlaceholderPaths.check(message, at: "message") { _ in "?" }
        }
    }

    @Test func thirtyThirdNameIsRefused() throws {
        let text = { (count: Int) in (0..<count).map { "{{n\($0)}}{{n\($0)|x}}" }.joined() }
        #expect(try Self.check(#"{"data":{"k":"\#(text(32))"}}"#).count == 32)
        #expect(throws: TemplateFault("message", "33 names of placeholders, at most 32")) {
            try Self.check(#"{"data":{"k":"\#(text(33))"}}"#)
        }
    }
}
