import FanfareCore
import FanfareModel
import Testing

/// Malformed messages of both formats, each with the reason that goes to `dead`.
@Suite struct ValidationMessageTests {
    private static let proxies = "PROXY_UNSPECIFIED, ALLOW, DENY, IF_PRIORITY_LOWERED"

    static let syntax: [BadEntry] = [
        BadEntry(message: "", "message: not JSON at byte 0: the text ends where a value should be"),
        BadEntry(message: "hello", "message: not JSON at byte 0: unexpected character where a value should be"),
        BadEntry(message: "{\"data\":{}", "message: not JSON at byte 10: missing comma or closing brace in an object"),
        BadEntry(message: "{} {}", "message: not JSON at byte 3: unexpected text after the value"),
        BadEntry(message: "[]", "message: must be an object, not an array"),
        BadEntry(message: "null", "message: must be an object, not null"),
        BadEntry(
            message: String(repeating: " ", count: 65_535) + "{}",
            "message: 65537 bytes of JSON, at most 65536"
        ),
        BadEntry(
            message: "{\"apns\":{\"payload\":{\"a\":" + String(repeating: "[", count: 62),
            "message: not JSON at byte 85: nested deeper than 64 levels"
        ),
        BadEntry(message: "{\"data\":{\"a\":\"1\",\"a\":\"2\"}}", "message.data.a: given more than once"),
        BadEntry(
            message: #"{"apns":{"payload":{"x":[{"k":1,"k":2}]}}}"#,
            "message.apns.payload.x[0].k: given more than once"
        ),
        BadEntry(message: #"{"dat\u0061":{},"data":{}}"#, "message.data: given more than once"),
    ]

    static let fields: [BadEntry] = [
        BadEntry(message: #"{"foo":1}"#, "message.foo: unknown field"),
        BadEntry(message: #"{"Data":{}}"#, "message.Data: unknown field"),
        BadEntry(
            message: #"{"validate_only":true,"message":{"token":"t"}}"#,
            "message.message: unknown field; unwrap it: `message` is the inner object"
        ),
        BadEntry(message: #"{"priority":"high"}"#, "message.priority: unknown field"),
        BadEntry(message: #"{"notification":{"sound":"x"}}"#, "message.notification.sound: unknown field"),
        BadEntry(message: #"{"android":{"colapseKey":"x"}}"#, "message.android.colapseKey: unknown field"),
        BadEntry(
            message: "{\"android\":{\"collapse\u{212A}ey\":\"x\"}}",
            "message.android.collapse\u{212A}ey: unknown field"
        ),
        BadEntry(
            message: #"{"androidV2":{"priority":"HIGH"}}"#,
            "message.androidV2.priority: unknown field"
        ),
        BadEntry(
            message: #"{"android_v2":{"remote_notification":{"notification":{"proxy":"DENY"}}}}"#,
            "message.android_v2.remote_notification.notification.proxy: unknown field"
        ),
        BadEntry(message: #"{"android":{"notification":{"id":1}}}"#, "message.android.notification.id: unknown field"),
        BadEntry(
            message: #"{"androidV2":{"backgroundSync":{"a":1}}}"#,
            "message.androidV2.backgroundSync.a: unknown field"
        ),
        BadEntry(message: #"{"name":"projects/p/messages/1"}"#, "message.name: output only"),
        BadEntry(message: #"{"token":"a"}"#, "message.token: the target is a field of the entry"),
        BadEntry(message: #"{"token":null}"#, "message.token: the target is a field of the entry"),
        BadEntry(message: #"{"fid":"a"}"#, "message.fid: the target is a field of the entry"),
        BadEntry(message: #"{"topic":"a"}"#, "message.topic: the target is a field of the entry"),
        BadEntry(message: #"{"condition":"a"}"#, "message.condition: the target is a field of the entry"),
        BadEntry(message: #"{"android":{},"androidV2":{}}"#, "message.androidV2: not together with android"),
        BadEntry(message: #"{"android_v2":{},"android":{}}"#, "message.android_v2: not together with android"),
        BadEntry(
            message: #"{"android":{"collapseKey":"a","collapse_key":"a"}}"#,
            "message.android.collapse_key: also given as collapseKey"
        ),
        BadEntry(message: #"{"fcm_options":{},"fcmOptions":{}}"#, "message.fcmOptions: also given as fcm_options"),
    ]

    static let types: [BadEntry] = [
        BadEntry(message: #"{"data":[]}"#, "message.data: must be an object, not an array"),
        BadEntry(message: #"{"data":{"n":12}}"#, "message.data.n: must be a string, not a number"),
        BadEntry(message: #"{"data":{"n":null}}"#, "message.data.n: must be a string, not null"),
        BadEntry(message: #"{"data":{"n":{}}}"#, "message.data.n: must be a string, not an object"),
        BadEntry(message: #"{"data":{"from":"x"}}"#, "message.data.from: reserved key"),
        BadEntry(message: #"{"data":{"message_type":"x"}}"#, "message.data.message_type: reserved key"),
        BadEntry(message: #"{"data":{"google.c.a":"x"}}"#, "message.data.google.c.a: reserved key"),
        BadEntry(message: #"{"data":{"gcmx":"x"}}"#, "message.data.gcmx: reserved key"),
        BadEntry(message: #"{"android":{"data":{"from":"x"}}}"#, "message.android.data.from: reserved key"),
        BadEntry(message: #"{"webpush":{"data":{"gcm.n":"x"}}}"#, "message.webpush.data.gcm.n: reserved key"),
        BadEntry(message: #"{"notification":"hi"}"#, "message.notification: must be an object, not a string"),
        BadEntry(
            message: #"{"notification":{"title":1}}"#,
            "message.notification.title: must be a string, not a number"
        ),
        BadEntry(
            message: #"{"android":{"priority":"urgent"}}"#,
            "message.android.priority: \"urgent\" is not one of NORMAL, HIGH"
        ),
        BadEntry(message: #"{"android":{"priority":1}}"#, "message.android.priority: must be a string, not a number"),
        BadEntry(message: #"{"android":{"ttl":"5"}}"#, "message.android.ttl: \"5\" is not a duration such as 3.5s"),
        BadEntry(message: #"{"android":{"ttl":5}}"#, "message.android.ttl: must be a string, not a number"),
        BadEntry(message: #"{"android":{"ttl":"-1s"}}"#, "message.android.ttl: \"-1s\" is not a duration such as 3.5s"),
        BadEntry(message: #"{"android":{"ttl":".5s"}}"#, "message.android.ttl: \".5s\" is not a duration such as 3.5s"),
        BadEntry(
            message: #"{"android":{"ttl":"1.1234567890s"}}"#,
            "message.android.ttl: \"1.1234567890s\" is not a duration such as 3.5s"
        ),
        BadEntry(message: #"{"android":{"ttl":"2419201s"}}"#, "message.android.ttl: 2419201s, at most 2419200s"),
        BadEntry(
            message: #"{"android":{"ttl":"2419200.000000001s"}}"#,
            "message.android.ttl: 2419200.000000001s, at most 2419200s"
        ),
        BadEntry(
            message: #"{"android":{"ttl":"99999999999999999999s"}}"#,
            "message.android.ttl: 99999999999999999999s, at most 2419200s"
        ),
        BadEntry(
            message: #"{"android":{"directBootOk":"yes"}}"#,
            "message.android.directBootOk: must be true or false, not a string"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"color":"red"}}}"#,
            "message.android.notification.color: \"red\" is not a color such as #00ff7f"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"bodyLocArgs":"a"}}}"#,
            "message.android.notification.bodyLocArgs: must be an array, not a string"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"titleLocArgs":["a",1]}}}"#,
            "message.android.notification.titleLocArgs[1]: must be a string, not a number"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"eventTime":"2026-02-29T00:00:00Z"}}}"#,
            "message.android.notification.eventTime: \"2026-02-29T00:00:00Z\" is not a time "
                + "such as 2026-01-31T08:30:00Z"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"notificationPriority":"HIGH"}}}"#,
            "message.android.notification.notificationPriority: \"HIGH\" is not one of PRIORITY_UNSPECIFIED, "
                + "PRIORITY_MIN, PRIORITY_LOW, PRIORITY_DEFAULT, PRIORITY_HIGH, PRIORITY_MAX"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"visibility":"public"}}}"#,
            "message.android.notification.visibility: \"public\" is not one of VISIBILITY_UNSPECIFIED, PRIVATE, "
                + "PUBLIC, SECRET"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"proxy":"NO"}}}"#,
            "message.android.notification.proxy: \"NO\" is not one of \(proxies)"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"notificationCount":2147483648}}}"#,
            "message.android.notification.notificationCount: 2147483648 is not -2147483648 to 2147483647"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"notificationCount":1.5}}}"#,
            "message.android.notification.notificationCount: 1.5 is not a whole number of 64 bits"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"vibrateTimings":["1s",2]}}}"#,
            "message.android.notification.vibrateTimings[1]: must be a string, not a number"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"lightSettings":{"color":{},"lightOnDuration":"1s"}}}}"#,
            "message.android.notification.lightSettings.lightOffDuration: required"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"lightSettings":{"color":{"red":1.1}}}}}"#,
            "message.android.notification.lightSettings.color.red: 1.1 is not 0 to 1"
        ),
        BadEntry(message: #"{"fcmOptions":{"analyticsLabel":""}}"#, "message.fcmOptions.analyticsLabel: empty"),
        BadEntry(
            message: #"{"fcmOptions":{"analyticsLabel":"a b"}}"#,
            "message.fcmOptions.analyticsLabel: byte 1 is not one of A-Z a-z 0-9 - _ . ~ %"
        ),
        BadEntry(
            message: "{\"apns\":{\"fcm_options\":{\"analytics_label\":\"\(String(repeating: "l", count: 51))\"}}}",
            "message.apns.fcm_options.analytics_label: 51 bytes, at most 50"
        ),
        BadEntry(message: #"{"apns":{"payload":[]}}"#, "message.apns.payload: must be an object, not an array"),
    ]

    static let images: [BadEntry] = [
        BadEntry(
            message: #"{"notification":{"image":"i.png"}}"#,
            "message.notification.image: \"i.png\" is not an http:// or https:// URL"
        ),
        BadEntry(
            message: #"{"android":{"notification":{"image":"ftp://a.example/i.png"}}}"#,
            "message.android.notification.image: \"ftp://a.example/i.png\" is not an http:// or https:// URL"
        ),
        BadEntry(
            message: #"{"androidV2":{"remoteNotification":{"notification":{"image":"https://"}}}}"#,
            "message.androidV2.remoteNotification.notification.image: \"https://\" is not an http:// or https:// URL"
        ),
        BadEntry(
            message: #"{"apns":{"fcmOptions":{"image":"https://a.example/i j.png"}}}"#,
            "message.apns.fcmOptions.image: \"https://a.example/i j.png\" is not an http:// or https:// URL"
        ),
        BadEntry(
            message: #"{"notification":{"image":7}}"#,
            "message.notification.image: must be a string, not a number"
        ),
    ]

    static let headers: [BadEntry] = [
        BadEntry(
            message: #"{"webpush":{"fcmOptions":{"link":"http://a.example"}}}"#,
            "message.webpush.fcmOptions.link: \"http://a.example\" is not an https:// URL"
        ),
        BadEntry(
            message: #"{"webpush":{"headers":{"TTL":60}}}"#,
            "message.webpush.headers.TTL: must be a string, not a number"
        ),
        BadEntry(
            message: #"{"webpush":{"headers":{"TTL":"60s"}}}"#,
            "message.webpush.headers.TTL: \"60s\" is not a number of seconds"
        ),
        BadEntry(
            message: #"{"webpush":{"headers":{"ttl":"2419201"}}}"#,
            "message.webpush.headers.ttl: 2419201 is not 0 to 2419200"
        ),
        BadEntry(
            message: #"{"webpush":{"headers":{"Urgency":"urgent"}}}"#,
            "message.webpush.headers.Urgency: \"urgent\" is not one of very-low, low, normal, high"
        ),
        BadEntry(
            message: #"{"webpush":{"headers":{"Topic":"a.b"}}}"#,
            "message.webpush.headers.Topic: byte 1 is not one of A-Z a-z 0-9 - _"
        ),
        BadEntry(
            message: "{\"webpush\":{\"headers\":{\"Topic\":\"\(String(repeating: "t", count: 33))\"}}}",
            "message.webpush.headers.Topic: 33 characters, must be 1 to 32"
        ),
        BadEntry(
            message: #"{"webpush":{"headers":{"TTL":"1","ttl":"1"}}}"#,
            "message.webpush.headers.ttl: given more than once"
        ),
        BadEntry(message: #"{"webpush":{"headers":{"a b":"1"}}}"#, "message.webpush.headers.a b: not a header name"),
        BadEntry(message: #"{"apns":{"headers":{":path":"/"}}}"#, "message.apns.headers.:path: not a header name"),
        BadEntry(
            message: #"{"apns":{"headers":{"apns-topic":"a\r\nb: c"}}}"#,
            "message.apns.headers.apns-topic: control character in a header value"
        ),
        BadEntry(
            message: "{\"apns\":{\"headers\":{\"apns-topic\":\"a\u{85}\"}}}",
            "message.apns.headers.apns-topic: control character in a header value"
        ),
        BadEntry(
            message: #"{"webpush":{"headers":{"TTL":"99999999999999999999"}}}"#,
            "message.webpush.headers.TTL: 99999999999999999999 is not 0 to 2419200"
        ),
        BadEntry(
            message: #"{"apns":{"headers":{"apns-priority":"7"}}}"#,
            "message.apns.headers.apns-priority: \"7\" is not one of 1, 5, 10"
        ),
        BadEntry(
            message: #"{"apns":{"headers":{"apns-expiration":"tomorrow"}}}"#,
            "message.apns.headers.apns-expiration: \"tomorrow\" is not a Unix time in seconds"
        ),
        BadEntry(
            message: "{\"apns\":{\"headers\":{\"apns-collapse-id\":\"\(String(repeating: "c", count: 65))\"}}}",
            "message.apns.headers.apns-collapse-id: 65 bytes, at most 64"
        ),
        BadEntry(
            message: #"{"data":{"a":"b"},"apns":{"headers":{"APNS-Priority":"10"}}}"#,
            "message.apns.headers.APNS-Priority: 10 is not allowed for a message of data only, give 5"
        ),
        BadEntry(
            message: #"{"notification":{},"apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"x":1}}}}"#,
            "message.apns.headers.apns-priority: 10 is not allowed for a message of data only, give 5"
        ),
    ]

    static let legacy: [BadEntry] = [
        BadEntry(message: #"{"to":"a"}"#, format: "legacy", "message.to: the target is a field of the entry"),
        BadEntry(
            message: #"{"registration_ids":["a"]}"#,
            format: "legacy",
            "message.registration_ids: the target is a field of the entry"
        ),
        BadEntry(
            message: #"{"condition":"a"}"#,
            format: "legacy",
            "message.condition: the target is a field of the entry"
        ),
        BadEntry(
            message: #"{"notification_key":"k"}"#,
            format: "legacy",
            "message.notification_key: withdrawn, give the entry's group instead"
        ),
        BadEntry(message: #"{"message_id":"1"}"#, format: "legacy", "message.message_id: chosen by the worker"),
        BadEntry(message: #"{"collapseKey":"k"}"#, format: "legacy", "message.collapseKey: unknown field"),
        BadEntry(message: #"{"android":{}}"#, format: "legacy", "message.android: unknown field"),
        BadEntry(
            message: #"{"collapse_key":1}"#,
            format: "legacy",
            "message.collapse_key: must be a string, not a number"
        ),
        BadEntry(
            message: #"{"collapse_key":null}"#,
            format: "legacy",
            "message.collapse_key: must be a string, not null"
        ),
        BadEntry(
            message: #"{"priority":"HIGH"}"#,
            format: "legacy",
            "message.priority: \"HIGH\" is not one of normal, high"
        ),
        BadEntry(
            message: #"{"time_to_live":"60"}"#,
            format: "legacy",
            "message.time_to_live: must be a whole number, not a string"
        ),
        BadEntry(message: #"{"time_to_live":-1}"#, format: "legacy", "message.time_to_live: -1 is not 0 to 2419200"),
        BadEntry(
            message: #"{"time_to_live":2419201}"#,
            format: "legacy",
            "message.time_to_live: 2419201 is not 0 to 2419200"
        ),
        BadEntry(
            message: #"{"time_to_live":1e99}"#,
            format: "legacy",
            "message.time_to_live: 1e99 is not a whole number of 64 bits"
        ),
        BadEntry(message: #"{"dry_run":1}"#, format: "legacy", "message.dry_run: must be true or false, not a number"),
        BadEntry(message: #"{"data":{"from":1}}"#, format: "legacy", "message.data.from: reserved key"),
        BadEntry(message: #"{"data":{"google-x":1}}"#, format: "legacy", "message.data.google-x: reserved key"),
        BadEntry(
            message: #"{"data":{"n":null}}"#,
            format: "legacy",
            "message.data.n: must not be null, which has no text form"
        ),
        BadEntry(message: #"{"data":"x"}"#, format: "legacy", "message.data: must be an object, not a string"),
        BadEntry(
            message: #"{"notification":{"titel":"x"}}"#,
            format: "legacy",
            "message.notification.titel: unknown field"
        ),
        BadEntry(
            message: #"{"notification":{"badge":1}}"#,
            format: "legacy",
            "message.notification.badge: must be a string, not a number"
        ),
        BadEntry(
            message: #"{"notification":{"badge":"many"}}"#,
            format: "legacy",
            "message.notification.badge: \"many\" is not a number in digits"
        ),
        BadEntry(
            message: #"{"notification":{"badge":"99999999999999999999"}}"#,
            format: "legacy",
            "message.notification.badge: 99999999999999999999, at most 9223372036854775807"
        ),
        BadEntry(
            message: ##"{"notification":{"color":"#12345"}}"##,
            format: "legacy",
            "message.notification.color: \"#12345\" is not a color such as #00ff7f"
        ),
        BadEntry(
            message: #"{"notification":{"body_loc_args":["a"]}}"#,
            format: "legacy",
            "message.notification.body_loc_args: must be a string, not an array"
        ),
        BadEntry(
            message: #"{"notification":{"body_loc_args":"[1]"}}"#,
            format: "legacy",
            "message.notification.body_loc_args[0]: must be a string, not a number"
        ),
        BadEntry(
            message: #"{"notification":{"title_loc_args":"a, b"}}"#,
            format: "legacy",
            "message.notification.title_loc_args: not a JSON array in a string, at byte 0: "
                + "unexpected character where a value should be"
        ),
        BadEntry(
            message: #"{"delivery_receipt_requested":true}"#,
            format: "legacy",
            "message.delivery_receipt_requested: only with the xmpp transport, this project's is v1"
        ),
        BadEntry(
            message: #"{"delivery_receipt_requested":true}"#,
            format: "legacy",
            over: .legacy,
            "message.delivery_receipt_requested: only with the xmpp transport, this project's is legacy"
        ),
    ]

    @Test(arguments: syntax + fields + types + images + headers + legacy) func badMessageIsRejectedByMemberName(
        _ row: BadEntry
    ) {
        #expect(row.decision == .reject(jobID: EntryBuilder.entryID, reason: row.reason))
    }

    @Test func messageThatIsNotUTF8IsNotJSON() {
        let fields: [(name: String, value: [UInt8])] = [
            ("token", Array("a".utf8)), ("message", Array("{\"data\":{\"a\":\"".utf8) + [0xFF] + Array("\"}}".utf8)),
        ]
        #expect(
            EntryBuilder.validator().decide(entryID: "1-1", fields: fields)
                == .reject(jobID: "1-1", reason: "message: not JSON at byte 14: invalid UTF-8")
        )
    }
}
