import FanfareCore
import FanfareModel
import Testing

@Suite struct ValidationAcceptanceTests {
    /// Every field of the v1 schema but `androidV2`, which excludes `android`.
    static let everyField = #"""
        {
          "data": {"k": "v", "collapse_key": "allowed", "": ""},
          "notification": {"title": "t", "body": "b", "image": "https://a.example/i.png"},
          "android": {
            "collapseKey": "c", "priority": "HIGH", "ttl": "3.500000001s", "restrictedPackageName": "com.a",
            "data": {"k": "a"},
            "notification": {
              "title": "t", "body": "b", "icon": "i", "color": "#00FFaa", "sound": "default", "tag": "g",
              "clickAction": "x", "bodyLocKey": "k", "bodyLocArgs": ["1"], "titleLocKey": "k", "titleLocArgs": [],
              "channelId": "ch", "ticker": "tick", "sticky": true, "eventTime": "2024-02-29T23:59:59.123456789+05:30",
              "localOnly": false, "notificationPriority": "PRIORITY_MAX", "defaultSound": true,
              "defaultVibrateTimings": true, "defaultLightSettings": false, "vibrateTimings": ["0s", "1.5s"],
              "visibility": "SECRET", "notificationCount": -1,
              "lightSettings": {
                "color": {"red": 0, "green": 1, "blue": 0.5, "alpha": 1e-2},
                "lightOnDuration": "1s", "lightOffDuration": "2419201s"
              },
              "image": "https://a.example/i.png", "bypassProxyNotification": false, "proxy": "IF_PRIORITY_LOWERED"
            },
            "fcmOptions": {"analyticsLabel": "A-z_0.~%"},
            "directBootOk": true, "bandwidthConstrainedOk": true, "restrictedSatelliteOk": false
          },
          "webpush": {
            "headers": {"TTL": "0", "Urgency": "very-low", "Topic": "a-Z_0", "X-Other": "any thing"},
            "data": {"k": "w"}, "notification": {"title": "t", "actions": [{"action": "a"}], "vibrate": [1, 2.5, null]},
            "fcmOptions": {"link": "HTTPS://a.example/p?q#f", "analyticsLabel": "l"}
          },
          "apns": {
            "headers": {"apns-priority": "10", "apns-expiration": "1604750400", "apns-collapse-id": "c"},
            "payload": {"aps": {"alert": {"title": "t"}, "badge": 3}, "own": [true]},
            "fcmOptions": {"analyticsLabel": "l", "image": "https://a.example/i.png"},
            "liveActivityToken": "l"
          },
          "fcmOptions": {"analyticsLabel": "l"}
        }
        """#

    /// The same message as protobuf names it.
    static let everyFieldInSnakeCase: String = {
        var text = everyField
        let names = [
            "collapseKey", "restrictedPackageName", "clickAction", "bodyLocKey", "bodyLocArgs", "titleLocKey",
            "titleLocArgs", "channelId", "eventTime", "localOnly", "notificationPriority", "defaultSound",
            "defaultVibrateTimings", "defaultLightSettings", "vibrateTimings", "notificationCount", "lightSettings",
            "lightOnDuration", "lightOffDuration", "bypassProxyNotification", "fcmOptions", "analyticsLabel",
            "directBootOk", "bandwidthConstrainedOk", "restrictedSatelliteOk", "liveActivityToken",
        ]
        for name in names {
            let snake = name.map { $0.isUppercase ? "_" + $0.lowercased() : String($0) }.joined()
            text = text.replacing("\"\(name)\"", with: "\"\(snake)\"")
        }
        return text
    }()

    static let everyV2Field = #"""
        {"androidV2": {
          "collapseKey": "c", "ttl": "2419200s", "restrictedPackageName": "p", "data": {"k": "v"},
          "fcmOptions": {"analyticsLabel": "l"}, "directBootOk": true, "bandwidthConstrainedOk": true,
          "restrictedSatelliteOk": true, "backgroundSync": {},
          "remoteNotification": {"mutableContent": true, "useAsV1DataMessage": true,
            "notification": {"id": 7, "title": "t", "tag": "g", "visibility": "PUBLIC"}}
        }}
        """#

    static let everyLegacyField = #"""
        {
          "collapse_key": "c", "priority": "high", "content_available": true, "mutable_content": false,
          "time_to_live": 2419200, "restricted_package_name": "p", "dry_run": true, "delay_while_idle": true,
          "data": {"s": "v", "n": 1.5, "b": true, "o": {"a": [1]}, "collapse_key": "x", "From": "y"},
          "notification": {
            "title": "t", "body": "b", "subtitle": "s", "sound": {"critical": 1}, "badge": "0", "icon": "i",
            "android_channel_id": "c", "tag": "g", "color": "#a0B1c2", "click_action": "x", "body_loc_key": "k",
            "body_loc_args": "[\"a\",\"b\"]", "title_loc_key": "k", "title_loc_args": "[]"
          }
        }
        """#

    /// Messages that FCM takes; some look odd.
    static let messages: [String] = [
        "{}", " {\n} ", #"{"notification":{}}"#, #"{"notification":null,"android":null,"androidV2":{}}"#,
        #"{"android":{"priority":"high"}}"#, #"{"android":{"priority":"normal"}}"#, #"{"android":{"ttl":"0s"}}"#,
        #"{"android":{"ttl":"2419200s"}}"#, #"{"android":{"ttl":"2419199.999999999s"}}"#,
        #"{"android":{"notification":{"eventTime":"0001-01-01T00:00:00Z"}}}"#,
        #"{"android":{"notification":{"lightSettings":null}}}"#,
        #"{"androidV2":{"backgroundSync":{}}}"#, #"{"android_v2":{"remote_notification":{"mutable_content":true}}}"#,
        #"{"android_v2":{"remote_notification":{"use_as_v1_data_message":true}}}"#,
        #"{"data":{"message_types":"1","fromage":"2","Google":"3"}}"#,
        #"{"webpush":{"headers":{"ttl":"2419200","urgency":"high"}}}"#,
        #"{"webpush":{"notification":{"data":{"from":"free object"}}}}"#,
        #"{"apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"content-available":1}}}}"#,
        #"{"notification":{"title":"t"},"apns":{"headers":{"apns-priority":"10"}}}"#,
        #"{"apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"badge":0}}}}"#,
        #"{"apns":{"headers":{"apns-priority":"10","apns-push-type":"liveactivity"},"liveActivityToken":"x"}}"#,
        #"{"notification":{"image":""}}"#, #"{"notification":{"image":"http://a.example"}}"#,
        everyField, everyFieldInSnakeCase, everyV2Field,
    ]

    static let legacyMessages: [String] = [
        "{}", #"{"data":{}}"#, #"{"time_to_live":0}"#, #"{"priority":"normal"}"#,
        #"{"notification":{"sound":"default"}}"#,
        #"{"data":{"message_typ":false}}"#, everyLegacyField,
    ]

    @Test(arguments: messages) func v1MessageIsAcceptedByteForByte(_ message: String) {
        #expect(EntryBuilder.reason(["message": message]) == nil)
        #expect(EntryBuilder.job(["message": message, "format": "v1"])?.message == Array(message.utf8))
    }

    @Test(arguments: legacyMessages) func legacyMessageIsAcceptedByteForByte(_ message: String) {
        #expect(EntryBuilder.reason(["message": message, "format": "legacy"]) == nil)
        let job = EntryBuilder.job(["message": message, "format": "legacy"], over: .legacy)
        #expect(job?.message == Array(message.utf8))
        #expect(job?.format == .legacy)
    }

    @Test(arguments: [
        ("token", "a:b_c.d-e", Target.tokens(["a:b_c.d-e"])),
        ("token", String(repeating: "t", count: 1_024), .tokens([String(repeating: "t", count: 1_024)])),
        ("tokens", #"["a","a"]"#, .tokens(["a", "a"])),
        ("fid", "cAbc", .fids(["cAbc"])),
        ("fids", #"["c","d"]"#, .fids(["c", "d"])),
        ("topic", "news", .topic("news")),
        ("topic", "/topics/ne~ws%20", .topic("ne~ws%20")),
        ("topic", String(repeating: "t", count: 900), .topic(String(repeating: "t", count: 900))),
        ("condition", "'a' in topics", .condition("'a' in topics")),
        ("group", "APA91bG", .group("APA91bG")),
        ("audience", "users:{demo}:all", .audience(key: "users:{demo}:all")),
        ("audience", "{demo}", .audience(key: "{demo}")),
        ("audience", "fanfares{demo}{other}ü", .audience(key: "fanfares{demo}{other}ü")),
    ])
    func aTargetIsTaken(_ field: String, _ value: String, _ target: Target) {
        let fields: [(name: String, value: [UInt8])] = [("message", Array("{}".utf8)), (field, Array(value.utf8))]
        guard case .accept(let job) = EntryBuilder.validator().decide(entryID: "1-1", fields: fields) else {
            Issue.record("rejected")
            return
        }
        #expect(job.target == target)
    }

    @Test func missingFieldsHaveTheirDefaults() {
        #expect(
            EntryBuilder.job(["token": "t"])
                == Job(
                    id: EntryBuilder.entryID,
                    hasOwnID: false,
                    entryID: EntryBuilder.entryID,
                    target: .tokens(["t"]),
                    message: Array("{}".utf8)
                )
        )
    }

    @Test func everyFieldReachesTheJob() {
        let job = EntryBuilder.job([
            "id": "news_2026:1.a-B", "topic": "t", "format": "legacy", "priority": "9", "not_before": "0100000000000",
            "expires_at": "99999999999999", "validate_only": "1", "results": "none", "delivery": "at_most_once",
            "traceparent": ValidationEntryTests.trace, "tracestate": "a=1, t@v=x y,,", "audience_size": "12",
            "op": "send",
        ])
        #expect(
            job
                == Job(
                    id: "news_2026:1.a-B",
                    hasOwnID: true,
                    entryID: EntryBuilder.entryID,
                    target: .topic("t"),
                    message: Array("{}".utf8),
                    format: .legacy,
                    priority: 9,
                    notBefore: 100_000_000_000,
                    expiresAt: 99_999_999_999_999,
                    validateOnly: true,
                    results: ResultsPolicy.none,
                    delivery: .atMostOnce,
                    traceparent: ValidationEntryTests.trace,
                    tracestate: "a=1, t@v=x y,,",
                    audienceSize: 12
                )
        )
    }

    @Test func laterTraceVersionMayBeLonger() {
        let later = "01" + ValidationEntryTests.trace.dropFirst(2) + "-more"
        #expect(EntryBuilder.job(["traceparent": later])?.traceparent == later)
        #expect(EntryBuilder.job(["validate_only": "0"])?.validateOnly == false)
    }
}
