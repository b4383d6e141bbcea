import FCMWire
import FanfareJSON
import FanfareModel
import Testing

@Suite struct RequestTemplateReplaceTests {
    /// The first 32 hexadecimal digits of the SHA-256 of `job-1`.
    static let mark = "026ab639c21df8aa80e5789370a9db1b"

    static let cases: [(String, MessageFormat, Transport, String)] = [
        // Nothing is shown: nothing is added.
        (#"{"data":{"k":"v"}}"#, .v1, .v1, #"{"message":{"token":"T","data":{"k":"v"}}}"#),
        (#"{"data":{"k":"v"}}"#, .legacy, .legacy, #"{"to":"T","data":{"k":"v"}}"#),
        (
            #"{"notification":{"title":"t"}}"#, .v1, .v1,
            #"{"message":{"token":"T","notification":{"title":"t"},"android":{"notification":{"tag":"MARK"}},"#
                + #""apns":{"headers":{"apns-collapse-id":"MARK"}},"webpush":{"headers":{"Topic":"MARK"}}}}"#
        ),
        // Its own names stay, in any spelling.
        (
            #"{"notification":{"title":"t"},"android":{"notification":{"tag":"mine"}},"#
                + #""apns":{"headers":{"APNS-Collapse-ID":"mine"}},"webpush":{"headers":{"topic":"mine"}}}"#,
            .v1, .v1,
            #"{"message":{"token":"T","notification":{"title":"t"},"android":{"notification":{"tag":"mine"}},"#
                + #""apns":{"headers":{"APNS-Collapse-ID":"mine"}},"webpush":{"headers":{"topic":"mine"}}}}"#
        ),
        // Only the platform that shows something.
        (
            #"{"apns":{"payload":{"aps":{"alert":"x"}}}}"#, .v1, .v1,
            #"{"message":{"token":"T","apns":{"payload":{"aps":{"alert":"x"}},"#
                + #""headers":{"apns-collapse-id":"MARK"}}}}"#
        ),
        (
            #"{"android":{"notification":{"title":"x","tag":""}}}"#, .v1, .v1,
            #"{"message":{"token":"T","android":{"notification":{"title":"x","tag":"MARK"}}}}"#
        ),
        (
            #"{"android_v2":{"remote_notification":{"notification":{"title":"x"}}}}"#, .v1, .v1,
            #"{"message":{"token":"T","android_v2":{"remote_notification":"#
                + #"{"notification":{"title":"x","tag":"MARK"}}}}}"#
        ),
        (
            #"{"webpush":{"notification":{"title":"x"}},"android_v2":{"backgroundSync":{}}}"#, .v1, .v1,
            #"{"message":{"token":"T","webpush":{"notification":{"title":"x"},"headers":{"Topic":"MARK"}},"#
                + #""android_v2":{"backgroundSync":{}}}}"#
        ),
        // A Live Activity replaces itself.
        (
            #"{"apns":{"live_activity_token":"l","payload":{"aps":{"alert":"x"}}}}"#, .v1, .v1,
            #"{"message":{"token":"T","apns":{"live_activity_token":"l","payload":{"aps":{"alert":"x"}}}}}"#
        ),
        (
            #"{"notification":{"title":"t"}}"#, .legacy, .legacy,
            #"{"to":"T","notification":{"title":"t","tag":"MARK"},"collapse_key":"MARK"}"#
        ),
        (
            #"{"notification":{"title":"t"}}"#, .v1, .legacy,
            #"{"to":"T","notification":{"title":"t","tag":"MARK"},"collapse_key":"MARK"}"#
        ),
        (
            #"{"notification":{"title":"t"},"collapse_key":"k"}"#, .legacy, .v1,
            #"{"message":{"token":"T","notification":{"title":"t"},"#
                + #""android":{"priority":"HIGH","collapseKey":"k","notification":{"tag":"MARK"}},"#
                + #""webpush":{"headers":{"Urgency":"high","Topic":"k"}},"#
                + #""apns":{"headers":{"apns-priority":"10","apns-collapse-id":"k"}}}}"#
        ),
    ]

    @Test(arguments: cases)
    func marksWhatIsShown(message: String, format: MessageFormat, transport: Transport, expected: String) throws {
        let body = try rendered(message, format, over: transport, delivery: .replace)
        #expect(try sorted(body) == sorted(expected.replacing("MARK", with: Self.mark)))
    }
}
