import FanfareJSON
import Testing

@testable import FCMSimulator

/// What APNs is given for each field, row by row.
@Suite struct AppleMappingTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var fact: String
        var message: String
        /// A path from the root of the payload, and the JSON that stands there; nil when nothing may.
        var path: [String]
        var value: String?

        init(_ fact: String, _ message: String, _ path: String, _ value: String?) {
            self.fact = fact
            self.message = message
            self.path = path.split(separator: "/").map(String.init)
            self.value = value
        }

        var testDescription: String { fact }
    }

    static let legacyRows = [
        Row("title", #""notification":{"title":"T"}"#, "aps/alert/title", #""T""#),
        Row("body", #""notification":{"body":"B"}"#, "aps/alert/body", #""B""#),
        Row("subtitle", #""notification":{"subtitle":"S"}"#, "aps/alert/subtitle", #""S""#),
        Row("body_loc_key", #""notification":{"body_loc_key":"K"}"#, "aps/alert/loc-key", #""K""#),
        Row(
            "body_loc_args, written as JSON in a string",
            #""notification":{"body_loc_key":"K","body_loc_args":"[\"a\",\"b\"]"}"#,
            "aps/alert/loc-args",
            #"["a","b"]"#
        ),
        Row("title_loc_key", #""notification":{"title_loc_key":"K"}"#, "aps/alert/title-loc-key", #""K""#),
        Row(
            "title_loc_args, written as an array",
            #""notification":{"title_loc_key":"K","title_loc_args":["a"]}"#,
            "aps/alert/title-loc-args",
            #"["a"]"#
        ),
        Row("sound is a file's name", #""notification":{"title":"T","sound":"s.aiff"}"#, "aps/sound", #""s.aiff""#),
        Row(
            "sound is a dictionary for a critical alert",
            #""notification":{"title":"T","sound":{"critical":1,"name":"s","volume":0.5}}"#,
            "aps/sound",
            #"{"critical":1,"name":"s","volume":0.5}"#
        ),
        Row("badge, a string there, is a number here", #""notification":{"badge":"3"}"#, "aps/badge", "3"),
        Row("badge 0 clears", #""notification":{"badge":"0"}"#, "aps/badge", "0"),
        Row("badge absent leaves", #""notification":{"title":"T"}"#, "aps/badge", nil),
        Row("a badge that is no number is none", #""notification":{"badge":"x"}"#, "aps/badge", nil),
        Row("click_action", #""notification":{"title":"T","click_action":"OPEN"}"#, "aps/category", #""OPEN""#),
        Row("content_available", #""content_available":true,"data":{"k":"v"}"#, "aps/content-available", "1"),
        Row(
            "content_available false beside a notification",
            #""content_available":false,"notification":{"title":"T"}"#,
            "aps/content-available",
            nil
        ),
        Row(
            "mutable_content",
            #""mutable_content":true,"notification":{"title":"T"}"#,
            "aps/mutable-content",
            "1"
        ),
        Row("mutable_content absent", #""notification":{"title":"T"}"#, "aps/mutable-content", nil),
        Row("data stand at the root", #""data":{"k":"v"}"#, "k", #""v""#),
        Row("data are texts", #""data":{"k":{"a":1}}"#, "k", #""{\"a\":1}""#),
        Row("a data key cannot be aps", #""data":{"aps":"x"}"#, "aps/content-available", "1"),
        Row("Android's tag stays there", #""notification":{"title":"T","tag":"x"}"#, "aps/alert/tag", nil),
        Row("image", #""notification":{"title":"T","image":"https://i"}"#, "fcm_options/image", #""https://i""#),
    ]

    @Test(arguments: legacyRows) func `a legacy field is mapped to Apple's field`(row: Row) throws {
        #expect(try Self.value(Receiver(.apple).legacy(row.message), row.path) == row.value.map(parsed))
    }

    static let v1Rows = [
        Row("title", #""notification":{"title":"T"}"#, "aps/alert/title", #""T""#),
        Row("body", #""notification":{"body":"B"}"#, "aps/alert/body", #""B""#),
        Row("image", #""notification":{"title":"T","image":"https://i"}"#, "fcm_options/image", #""https://i""#),
        Row(
            "the image of apns.fcm_options overrides",
            #""notification":{"title":"T","image":"https://i"},"apns":{"fcm_options":{"image":"https://own"}}"#,
            "fcm_options/image",
            #""https://own""#
        ),
        Row(
            "apns.payload is copied as it is",
            #""apns":{"payload":{"aps":{"badge":1,"x":[true]},"own":{"a":1}}}"#,
            "own",
            #"{"a":1}"#
        ),
        Row(
            "the alert of apns.payload overrides the notification",
            #""notification":{"title":"T","body":"B"},"apns":{"payload":{"aps":{"alert":{"title":"A"}}}}"#,
            "aps/alert",
            #"{"title":"A"}"#
        ),
        Row(
            "the category of apns.payload, as the overview's example sets it",
            #""notification":{"title":"T"},"apns":{"payload":{"aps":{"category":"NEW_MESSAGE_CATEGORY"}}}"#,
            "aps/category",
            #""NEW_MESSAGE_CATEGORY""#
        ),
        Row("data stand at the root", #""data":{"k":"v"}"#, "k", #""v""#),
        Row("apns.payload wins over data", #""data":{"k":"v"},"apns":{"payload":{"k":"own"}}"#, "k", #""own""#),
        Row(
            "Android's and the web's blocks stay there",
            #""android":{"data":{"k":"a"},"notification":{"title":"A"}},"webpush":{"data":{"k":"w"}}"#,
            "k",
            nil
        ),
        Row(
            "Android's notification shows nothing here",
            #""android":{"notification":{"title":"A","click_action":"OPEN_ACTIVITY_1"}}"#,
            "aps/alert",
            nil
        ),
        Row("data alone are a background push", #""data":{"k":"v"}"#, "aps/content-available", "1"),
        Row("an alert alone wakes no app", #""notification":{"title":"T"}"#, "aps/content-available", nil),
        Row(
            "an analytics label",
            #""data":{"k":"v"},"fcm_options":{"analytics_label":"all"},"apns":{"fcm_options":{"analytics_label":"own"}}"#,
            "google.c.a.m_l",
            #""own""#
        ),
    ]

    @Test(arguments: v1Rows) func `a v1 field is mapped to Apple's field`(row: Row) throws {
        #expect(try Self.value(Receiver(.apple).v1(row.message), row.path) == row.value.map(parsed))
    }

    @Test func `FCM adds its own keys at the root`() throws {
        var receiver = Receiver(.apple)
        receiver.token = "cAbCdEfGhIjKlMnOpQrStU:APA91bTail"
        let results = [
            receiver.v1(#""data":{"k":"v"}"#), receiver.legacy(#""data":{"k":"v"}"#), receiver.plainText("data.k=v"),
        ]
        for result in results {
            #expect(result.payload["gcm.message_id"] == "1581529388050227")
            #expect(result.payload["google.c.sender.id"] == "1234567890")
            #expect(result.payload["google.c.fid"] == "cAbCdEfGhIjKlMnOpQrStU")
            #expect(result.payload["google.c.a.e"] == "1")
            #expect(result.payload["k"] == "v")
        }
    }

    @Test func `every token has one installation id`() {
        #expect(InstallationID.of("sbx-apple-1") == InstallationID.of("sbx-apple-1"))
        #expect(InstallationID.of("sbx-apple-1") != InstallationID.of("sbx-apple-2"))
        #expect(InstallationID.of("cAbCdEfGhIjKlMnOpQrStU") == "cAbCdEfGhIjKlMnOpQrStU")
        for token in ["", "a", "xAbCdEfGhIjKlMnOpQrStU:x", String(repeating: "é", count: 400)] {
            let id = InstallationID.of(token)
            #expect(id.utf8.count == 22 && "cdef".contains(id.prefix(1)))
        }
    }

    static func value(_ reception: Reception, _ path: [String]) -> JSONValue? {
        var value: JSONValue? = .object(reception.payload)
        for name in path { value = value?.object?[name] }
        return value
    }
}
