import FCMSimulator
import FanfareJSON
import Testing

@Suite struct V1RequestTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var body: String
        /// What BadRequest has to name; empty where the error names no field.
        var field: String
        /// Whether the refusal is FCM's own or the JSON front end's.
        var isFCM: Bool
        var testDescription: String { String(body.prefix(80)) }

        init(_ body: String, _ field: String, isFCM: Bool) {
            self.body = body
            self.field = field
            self.isFCM = isFCM
        }
    }

    static func padded(_ bytes: Int, target: String = #""token":"t""#) -> String {
        #"{"message":{\#(target),"data":{"k":""# + String(repeating: "x", count: bytes - 1) + #""}}}"#
    }

    static let refused = [
        Row(#"{"message":"#, "", isFCM: false),
        Row("[]", "", isFCM: false),
        Row(#"{"message":{"data":{"a":"b"}}}"#, "message", isFCM: true),
        Row(#"{"message":{"token":""}}"#, "message", isFCM: true),
        Row("{}", "message", isFCM: true),
        Row(#"{"message":{"token":"t","topic":"x"}}"#, "message", isFCM: false),
        Row(#"{"message":{"token":"t","fid":"x"}}"#, "message", isFCM: false),
        Row(#"{"message":{"token":"t","colour":"x"}}"#, "message", isFCM: false),
        Row(#"{"massage":{"token":"t"}}"#, "", isFCM: false),
        Row(
            #"{"message":{"token":"t","android":{"notification":{"oops":1}}}}"#,
            "message.android.notification",
            isFCM: false
        ),
        Row(#"{"message":{"token":"t","data":{"a":12}}}"#, "message.data[0].value", isFCM: false),
        Row(#"{"message":{"token":"t","data":{"a":"b","c":{}}}}"#, "message.data[1].value", isFCM: false),
        Row(#"{"message":{"token":"t","data":[]}}"#, "message.data", isFCM: false),
        Row(#"{"message":{"token":5}}"#, "message.token", isFCM: false),
        Row(#"{"message":{"token":"t","notification":{"title":1}}}"#, "message.notification.title", isFCM: false),
        Row(#"{"message":{"token":"t","android":{"ttl":"5"}}}"#, "message.android.ttl", isFCM: false),
        Row(#"{"message":{"token":"t","android":{"ttl":"2419201s"}}}"#, "message.android.ttl", isFCM: true),
        Row(#"{"message":{"token":"t","android":{"ttl":"-1s"}}}"#, "message.android.ttl", isFCM: true),
        Row(#"{"message":{"token":"t","android":{"priority":"urgent"}}}"#, "message.android.priority", isFCM: false),
        Row(#"{"message":{"token":"t","android":{},"androidV2":{}}}"#, "message.android_v2", isFCM: true),
        Row(#"{"message":{"token":"t","data":{"from":"x"}}}"#, "message.data", isFCM: true),
        Row(#"{"message":{"token":"t","data":{"message_type":"x"}}}"#, "message.data", isFCM: true),
        Row(#"{"message":{"token":"t","data":{"google.x":"x"}}}"#, "message.data", isFCM: true),
        Row(#"{"message":{"token":"t","android":{"data":{"gcm.x":"x"}}}}"#, "message.android.data", isFCM: true),
        Row(#"{"message":{"token":"a b"}}"#, "message.token", isFCM: true),
        Row(#"{"message":{"fid":"a b"}}"#, "message.fid", isFCM: true),
        Row(#"{"message":{"topic":"/topics/x"}}"#, "message.topic", isFCM: true),
        Row(#"{"message":{"condition":"'a' in topic"}}"#, "message.condition", isFCM: true),
        Row(
            #"{"message":{"token":"t","fcm_options":{"analytics_label":"a b"}}}"#,
            "message.fcm_options.analytics_label",
            isFCM: true
        ),
        Row(
            #"{"message":{"token":"t","android":{"notification":{"color":"red"}}}}"#,
            "message.android.notification.color",
            isFCM: true
        ),
        Row(
            #"{"message":{"token":"t","webpush":{"fcm_options":{"link":"http://x"}}}}"#,
            "message.webpush.fcm_options.link",
            isFCM: true
        ),
        Row(
            #"{"message":{"token":"t","apns":{"headers":{"apns-priority":"7"}}}}"#,
            "message.apns.headers",
            isFCM: true
        ),
        Row(
            #"{"message":{"token":"t","apns":{"headers":{"apns-expiration":"soon"}}}}"#,
            "message.apns.headers",
            isFCM: true
        ),
        Row(#"{"message":{"token":"t","notification_key":"k"}}"#, "message", isFCM: false),
        Row(
            #"{"message":{"token":"sbx-apple-1","data":{"a":"b"},"apns":{"headers":{"apns-priority":"10"}}}}"#,
            "message.apns.headers",
            isFCM: true
        ),
        Row(padded(4_097), "", isFCM: true),
        Row(padded(2_049, target: #""topic":"t""#), "", isFCM: true),
    ]

    @Test(arguments: refused)
    func `an invalid message is refused with the name of its field`(row: Row) throws {
        var trial = Trial()
        let reply = trial.v1(row.body)
        #expect(reply.status == 400)
        #expect(try reply.error()["status"] == "INVALID_ARGUMENT")
        #expect(try (reply.fcmError() == "INVALID_ARGUMENT") == row.isFCM)
        if !row.field.isEmpty { #expect(try reply.violatedFields().contains(row.field)) }
        #expect(try trial.statistic("accepted") == 0)
    }

    static let accepted = [
        #"{"message":{"token":"t"}}"#,
        #"{"message":{"fid":"cAbCdEfGhIjKlMnOpQrStU","data":{"a":"b"}},"validateOnly":false}"#,
        #"{"message":{"topic":"news","notification":{"title":"a","body":"b"}},"validate_only":false}"#,
        #"{"message":{"condition":"'a' in topics && ('b' in topics || 'c' in topics)"}}"#,
        #"{"message":{"token":"t","android":{"collapse_key":"k","ttl":"3.5s","priority":"high"}}}"#,
        #"{"message":{"token":"t","android":{"collapseKey":"k","ttl":"2419200s","priority":"NORMAL"}}}"#,
        #"{"message":{"token":"t","androidV2":{"remoteNotification":{"notification":{"id":5,"title":"x"}}}}}"#,
        #"{"message":{"token":"t","apns":{"payload":{"aps":{"alert":"x"},"k":[1,{}]},"headers":{"apns-priority":"10"}}}}"#,
        #"{"message":{"token":"t","webpush":{"headers":{"TTL":"60"},"notification":{"actions":[]}}}}"#,
        #"{"message":{"token":"t","data":{"collapse_key":"x"},"notification":null}}"#,
        #"{"message":{"token":"a","token":"b"}}"#,
        padded(4_096), padded(2_048, target: #""topic":"t""#),
    ]

    @Test(arguments: accepted)
    func `a valid message is accepted in both spellings`(body: String) throws {
        var trial = Trial()
        let reply = trial.v1(body)
        #expect(reply.status == 200)
        let name = try #require(try reply.json()["name"]?.string)
        #expect(name.hasPrefix("projects/demo/messages/"))
    }

    @Test func `a data value that is no string is refused in the live service's words`() throws {
        var trial = Trial()
        let reply = trial.v1(#"{"message":{"token":"t","data":{"a":12}}}"#)
        #expect(try reply.error()["message"] == "Invalid value at 'message.data[0].value' (TYPE_STRING), 12")
    }

    @Test func `validate_only checks the device and delivers nothing`() throws {
        var trial = Trial()
        let reply = trial.v1(#"{"validate_only":true,"message":{"token":"t"}}"#)
        #expect(try reply.json()["name"] == "projects/demo/messages/fake_message_id")
        #expect(try trial.deliveries("t").isEmpty)
        #expect(try trial.statistic("duplicates") == 0)
        #expect(trial.v1(#"{"validate_only":true,"message":{"token":"sbx-unregistered-1"}}"#).status == 404)
    }

    @Test func `a message restricted to another package is refused`() throws {
        var trial = Trial()
        trial.control("POST", "/devices", #"{"token":"t","package":"com.example.a"}"#)
        let body = #"{"message":{"token":"t","android":{"restricted_package_name":"com.example.b"}}}"#
        #expect(try trial.v1(body).violatedFields() == ["message.android.restricted_package_name"])
        #expect(trial.v1(body.replacing("example.b", with: "example.a")).status == 200)
    }
}
