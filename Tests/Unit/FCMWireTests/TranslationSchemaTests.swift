import FCMWire
import FanfareJSON
import FanfareModel
import Testing

/// One row for every field of the v1 schema: the legacy option it becomes over legacy, plain text and XMPP, or that it
/// has no counterpart and is refused under its own name.
@Suite struct TranslationSchemaTests {
    typealias Way = TranslationOptionsTests.Way

    /// A message with the field, and the legacy options that it becomes.
    static let translated: [(message: String, legacy: String)] = [
        (#"{"name":"ignored"}"#, "{}"),
        (#"{"data":{"k":"v"}}"#, #"{"data":{"k":"v"}}"#),
        (#"{"notification":{"title":"t"}}"#, #"{"notification":{"title":"t"}}"#),
        (#"{"notification":{"body":"b"}}"#, #"{"notification":{"body":"b"}}"#),
        (#"{"android":{"collapseKey":"k"}}"#, #"{"collapse_key":"k"}"#),
        (#"{"android":{"priority":"NORMAL"}}"#, #"{"priority":"normal"}"#),
        (#"{"android":{"ttl":"3.5s"}}"#, #"{"time_to_live":3}"#),
        (#"{"android":{"restrictedPackageName":"p"}}"#, #"{"restricted_package_name":"p"}"#),
        (#"{"android":{"notification":{"icon":"i"}}}"#, #"{"notification":{"icon":"i"}}"#),
        (##"{"android":{"notification":{"color":"#112233"}}}"##, ##"{"notification":{"color":"#112233"}}"##),
        (#"{"android":{"notification":{"sound":"x"}}}"#, #"{"notification":{"sound":"x"}}"#),
        (#"{"android":{"notification":{"defaultSound":true}}}"#, #"{"notification":{"sound":"default"}}"#),
        (#"{"android":{"notification":{"tag":"g"}}}"#, #"{"notification":{"tag":"g"}}"#),
        (#"{"android":{"notification":{"clickAction":"A"}}}"#, #"{"notification":{"click_action":"A"}}"#),
        (#"{"android":{"notification":{"channelId":"c"}}}"#, #"{"notification":{"android_channel_id":"c"}}"#),
        (
            #"{"notification":{"title":"t"},"android":{"notification":{"title":"t"}}}"#,
            #"{"notification":{"title":"t"}}"#
        ),
        (
            #"{"notification":{"body":"b"},"android":{"notification":{"body":"b"}}}"#,
            #"{"notification":{"body":"b"}}"#
        ),
        (localized("bodyLocKey", "loc-key", #""K""#), #"{"notification":{"body_loc_key":"K"}}"#),
        (localized("titleLocKey", "title-loc-key", #""K""#), #"{"notification":{"title_loc_key":"K"}}"#),
        (localized("bodyLocArgs", "loc-args", #"["1"]"#), #"{"notification":{"body_loc_args":"[\"1\"]"}}"#),
        (
            localized("titleLocArgs", "title-loc-args", #"["1"]"#),
            #"{"notification":{"title_loc_args":"[\"1\"]"}}"#
        ),
        (#"{"webpush":{"headers":{"TTL":"60"}}}"#, #"{"time_to_live":60}"#),
        (#"{"webpush":{"headers":{"Urgency":"high"}}}"#, #"{"priority":"high"}"#),
        (#"{"webpush":{"headers":{"Topic":"k"}}}"#, #"{"collapse_key":"k"}"#),
        (
            #"{"notification":{"title":"t"},"webpush":{"notification":{"title":"t","icon":"https://i"}}}"#,
            #"{"notification":{"title":"t","icon":"https://i"}}"#
        ),
        (#"{"webpush":{"fcmOptions":{"link":"https://x"}}}"#, #"{"notification":{"click_action":"https://x"}}"#),
        (#"{"apns":{"headers":{"apns-expiration":"0"}}}"#, #"{"time_to_live":0}"#),
        (#"{"apns":{"headers":{"apns-collapse-id":"k"}}}"#, #"{"collapse_key":"k"}"#),
        (#"{"apns":{"headers":{"apns-priority":"10"}}}"#, #"{"priority":"high"}"#),
        (#"{"apns":{"headers":{"apns-push-type":"alert"}}}"#, "{}"),
        (#"{"apns":{"payload":{"aps":{"badge":3}}}}"#, #"{"notification":{"badge":"3"}}"#),
        (#"{"apns":{"payload":{"aps":{"category":"C"}}}}"#, #"{"notification":{"click_action":"C"}}"#),
        (#"{"apns":{"payload":{"aps":{"content-available":1}}}}"#, #"{"content_available":true}"#),
        (#"{"apns":{"payload":{"aps":{"mutable-content":1}}}}"#, #"{"mutable_content":true}"#),
        (
            #"{"apns":{"payload":{"aps":{"sound":{"critical":1,"name":"x"}}}}}"#,
            #"{"notification":{"sound":{"critical":1,"name":"x"}}}"#
        ),
        (
            #"{"apns":{"payload":{"aps":{"alert":{"subtitle":"s"}}}}}"#, #"{"notification":{"subtitle":"s"}}"#
        ),
        // Written-out defaults say nothing.
        (#"{"android":{"notification":{"visibility":"VISIBILITY_UNSPECIFIED","sticky":false}}}"#, "{}"),
        (#"{"android":{"notification":{"notificationPriority":"PRIORITY_UNSPECIFIED"}}}"#, "{}"),
        (#"{"android":{"notification":{"proxy":"PROXY_UNSPECIFIED"}}}"#, "{}"),
    ]

    /// A path and a value that legacy cannot hold.
    static let refused: [(path: String, value: String)] =
        [
            ("fcmOptions.analyticsLabel", #""l""#), ("notification.image", #""https://i""#),
            ("android.data.k", #""v""#), ("android.fcmOptions.analyticsLabel", #""l""#),
            ("webpush.data.k", #""v""#), ("webpush.headers.X-Other", #""v""#),
            ("webpush.notification.vibrate", "[1]"), ("webpush.notification.image", #""https://i""#),
            ("webpush.fcmOptions.analyticsLabel", #""l""#), ("apns.headers.apns-topic", #""t""#),
            ("apns.headers.apns-push-type", #""voip""#), ("apns.payload.custom", "1"),
            ("apns.payload.aps.thread-id", #""x""#), ("apns.payload.aps.interruption-level", #""passive""#),
            ("apns.payload.aps.alert.launch-image", #""x""#), ("apns.payload.aps.alert.subtitle-loc-key", #""x""#),
            ("apns.fcmOptions.analyticsLabel", #""l""#), ("apns.fcmOptions.image", #""https://i""#),
            ("apns.liveActivityToken", #""x""#), ("androidV2.backgroundSync", "{}"), ("androidV2.ttl", #""5s""#),
            ("androidV2.collapseKey", #""k""#), ("androidV2.remoteNotification.notification.title", #""t""#),
            ("androidV2.remoteNotification.notification.id", "1"), ("androidV2.restrictedPackageName", #""p""#),
        ]
        + ["directBootOk", "bandwidthConstrainedOk", "restrictedSatelliteOk"].map { ("android.\($0)", "true") }
        + ["sticky", "localOnly", "defaultVibrateTimings", "defaultLightSettings", "bypassProxyNotification"].map {
            ("android.notification.\($0)", "true")
        }
        + [
            ("ticker", #""x""#), ("eventTime", #""2026-01-01T00:00:00Z""#), ("image", #""https://i""#),
            ("notificationPriority", #""PRIORITY_HIGH""#), ("visibility", #""SECRET""#), ("notificationCount", "1"),
            ("vibrateTimings", #"["1s"]"#), ("proxy", #""DENY""#),
            ("lightSettings", #"{"color":{},"lightOnDuration":"1s","lightOffDuration":"1s"}"#),
        ].map { ("android.notification.\($0)", $1) }

    private static func localized(_ android: String, _ apple: String, _ value: String) -> String {
        #"{"android":{"notification":{"\#(android)":\#(value)}},"#
            + #""apns":{"payload":{"aps":{"alert":{"\#(apple)":\#(value)}}}}}"#
    }

    /// Fields that are no part of plain text.
    private static let notText = ["notification", "priority", "content_available", "mutable_content"]

    @Test func everyFieldWithACounterpartBecomesIt() throws {
        for (message, legacy) in Self.translated {
            let body = try sorted(try TranslationOptionsTests.render(message, .v1, over: .legacy))
            let options = String(legacy.dropFirst())
            let joint = options == "}" ? "" : ","
            #expect(try body == sorted(#"{"to":"T""# + joint + options), "\(message)")

            let overXMPP = Result { try TranslationOptionsTests.render(message, .v1, over: .xmpp) }
            if legacy.contains("restricted_package_name") {
                #expect(throws: TranslationError.self, "\(message)") { try overXMPP.get() }
            } else {
                #expect(try sorted(overXMPP.get()) == sorted(#"{"to":"T","message_id":"m""# + joint + options))
            }

            let asText = Result { try TranslationOptionsTests.render(message, .v1, over: .text) }
            if Self.notText.contains(where: { legacy.contains("\"\($0)\"") }) {
                #expect(throws: TranslationError.self, "\(message)") { try asText.get() }
            } else {
                #expect(try asText.get().hasPrefix("registration_id=T"), "\(message)")
            }
        }
    }

    @Test func everyOtherFieldIsRefusedByName() throws {
        for (path, value) in Self.refused {
            for (way, place) in [(Way.legacy, "in legacy"), (.text, "in plain text"), (.xmpp, "over XMPP")] {
                let error = #expect(throws: TranslationError.self, "\(path)") {
                    try TranslationOptionsTests.render(nested(path, value), .v1, over: way)
                }
                let reason = try #require(error?.reason)
                // The name may be that of the block, where all of it is without a counterpart.
                let name = reason.prefix { $0 != ":" }
                #expect("message.\(path)".hasPrefix(name) && name != "message", "\(path): \(reason)")
                #expect(reason.hasSuffix(": has no counterpart \(place)"), "\(path): \(reason)")
            }
        }
    }

    @Test func aRefusedOptionOfV1IsNamedAsItWasWritten() {
        for (message, way, reason) in [
            (
                #"{"android":{"restricted_package_name":"p"}}"#, Way.xmpp,
                "message.android.restricted_package_name: has no counterpart over XMPP"
            ),
            (
                #"{"notification":{"title":"t"}}"#, .text,
                "message.notification.title: has no counterpart in plain text"
            ),
            (
                #"{"webpush":{"headers":{"urgency":"high"}}}"#, .text,
                "message.webpush.headers.urgency: has no counterpart in plain text"
            ),
        ] {
            #expect(throws: TranslationError(reason: reason)) {
                try TranslationOptionsTests.render(message, .v1, over: way)
            }
        }
    }
}
