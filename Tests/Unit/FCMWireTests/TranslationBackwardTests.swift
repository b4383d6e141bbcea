import FCMWire
import FanfareJSON
import FanfareModel
import Testing

/// Every row of the documentation's page "Translation", v1 to legacy.
@Suite struct TranslationBackwardTests {
    static let translated: [(String, String)] = [
        ("{}", #"{"to":"T"}"#),
        (#"{"data":{"k":"v","apns":"x"},"name":"ignored"}"#, #"{"to":"T","data":{"k":"v","apns":"x"}}"#),
        (
            #"{"notification":{"title":"t","body":"b"}}"#,
            #"{"to":"T","notification":{"title":"t","body":"b"}}"#
        ),
        (
            #"{"notification":{"body":"b"},"apns":{"payload":{"aps":{"alert":"b"}}}}"#,
            #"{"to":"T","notification":{"body":"b"}}"#
        ),
        (
            #"{"notification":{"title":"t"},"apns":{"payload":{"aps":{"alert":{"title":"t","subtitle":"s"},"#
                + #""badge":3,"sound":"x","category":"C","mutable-content":1}}}}"#,
            #"{"to":"T","mutable_content":true,"#
                + #""notification":{"title":"t","subtitle":"s","badge":"3","sound":"x","click_action":"C"}}"#
        ),
        (
            ##"{"notification":{"title":"t"},"android":{"notification":{"icon":"i","color":"#112233","tag":"g","##
                + ##""channel_id":"c","clickAction":"A","sound":"s"}}}"##,
            ##"{"to":"T","notification":{"title":"t","icon":"i","color":"#112233","tag":"g","##
                + ##""android_channel_id":"c","click_action":"A","sound":"s"}}"##
        ),
        (
            #"{"android":{"notification":{"body_loc_key":"B","bodyLocArgs":["1"],"titleLocKey":"T"}},"#
                + #""apns":{"payload":{"aps":{"alert":{"loc-key":"B","loc-args":["1"],"title-loc-key":"T"}}}}}"#,
            #"{"to":"T","notification":{"body_loc_key":"B","body_loc_args":"[\"1\"]","title_loc_key":"T"}}"#
        ),
        (
            #"{"android":{"collapse_key":"k","priority":"high","ttl":"60.9s","restricted_package_name":"p"}}"#,
            #"{"to":"T","collapse_key":"k","priority":"high","time_to_live":60,"restricted_package_name":"p"}"#
        ),
        (
            #"{"webpush":{"headers":{"ttl":"5","URGENCY":"very-low","Topic":"k"},"notification":{"icon":"https://i"},"#
                + #""fcm_options":{"link":"https://x"}}}"#,
            #"{"to":"T","time_to_live":5,"priority":"normal","collapse_key":"k","#
                + #""notification":{"icon":"https://i","click_action":"https://x"}}"#
        ),
        (
            #"{"apns":{"headers":{"APNS-Priority":"5","apns-expiration":"0","apns-collapse-id":"k","#
                + #""apns-push-type":"background"},"payload":{"aps":{"content-available":1}}}}"#,
            #"{"to":"T","time_to_live":0,"collapse_key":"k","content_available":true}"#
        ),
        // Data only: Apple's 5 says nothing of Android's priority.
        (
            #"{"data":{"k":"v"},"android":{"priority":"HIGH"},"apns":{"headers":{"apns-priority":"5"}}}"#,
            #"{"to":"T","data":{"k":"v"},"priority":"high"}"#
        ),
        // Defaults, written out.
        (#"{"android":{"directBootOk":false,"notification":{}},"webpush":null}"#, #"{"to":"T"}"#),
    ]

    @Test(arguments: translated)
    func translates(v1: String, legacy: String) throws {
        #expect(try sorted(try rendered(v1, .v1, over: .legacy)) == sorted(legacy))
    }

    static let noCounterpart: [(String, String)] = [
        (#"{"android_v2":{"backgroundSync":{}}}"#, "android_v2"),
        (#"{"fcmOptions":{"analyticsLabel":"l"}}"#, "fcmOptions"),
        (#"{"notification":{"image":"i"}}"#, "notification.image"),
        (#"{"android":{"data":{"k":"v"}}}"#, "android.data"),
        (#"{"android":{"direct_boot_ok":true}}"#, "android.direct_boot_ok"),
        (#"{"android":{"notification":{"ticker":"x"}}}"#, "android.notification.ticker"),
        (#"{"webpush":{"data":{"k":"v"}}}"#, "webpush.data"),
        (#"{"webpush":{"headers":{"X-Y":"z"}}}"#, "webpush.headers.X-Y"),
        (#"{"webpush":{"notification":{"vibrate":[1]}}}"#, "webpush.notification.vibrate"),
        (#"{"apns":{"headers":{"apns-topic":"x"}}}"#, "apns.headers.apns-topic"),
        (#"{"apns":{"payload":{"mine":1}}}"#, "apns.payload.mine"),
        (#"{"apns":{"payload":{"aps":{"thread-id":"x"}}}}"#, "apns.payload.aps.thread-id"),
        (#"{"apns":{"liveActivityToken":"x"}}"#, "apns.liveActivityToken"),
        (#"{"apns":{"fcm_options":{"image":"i"}}}"#, "apns.fcm_options"),
        (#"{"apns":{"headers":{"apns-priority":"3"}}}"#, "apns.headers.apns-priority"),
    ]

    @Test(arguments: noCounterpart)
    func refusesWhatHasNoCounterpart(v1: String, path: String) {
        let error = TranslationError(reason: "message.\(path): has no counterpart in legacy")
        #expect(throws: error) { try rendered(v1, .v1, over: .legacy) }
    }

    static let conflicts: [(String, String)] = [
        (
            #"{"android":{"ttl":"5s"},"webpush":{"headers":{"TTL":"6"}}}"#,
            "message.webpush.headers.TTL: differs from message.android.ttl; legacy has one value for all platforms"
        ),
        (
            #"{"notification":{"title":"a"},"android":{"notification":{"title":"b"}}}"#,
            "message.android.notification.title: differs from message.notification.title; "
                + "legacy has one value for all platforms"
        ),
        (
            #"{"data":{"k":"v"},"apns":{"payload":{"aps":{"alert":{"title":"t"}}}}}"#,
            "message.apns.payload.aps.alert.title: legacy cannot show a text on one platform only"
        ),
        (
            #"{"apns":{"payload":{"aps":{"alert":"b"}}}}"#,
            "message.apns.payload.aps.alert: legacy cannot show a text on one platform only"
        ),
        (
            #"{"android":{"notification":{"bodyLocKey":"B"}}}"#,
            "message.android.notification.bodyLocKey: legacy cannot show a text on one platform only"
        ),
        (
            #"{"apns":{"headers":{"apns-expiration":"1604750400"}}}"#,
            "message.apns.headers.apns-expiration: names a moment, which has no counterpart in legacy"
        ),
        (
            #"{"webpush":{"notification":{"icon":"http://i"}}}"#,
            "message.webpush.notification.icon: must be an https address"
        ),
        (#"{"android":{"ttl":"5"}}"#, "message.android.ttl: must be seconds such as 3.5s"),
        (#"{"token":"x"}"#, "message.token: the target belongs in the job's own field"),
    ]

    @Test(arguments: conflicts)
    func refusesWhatDoesNotFit(v1: String, reason: String) {
        #expect(throws: TranslationError(reason: reason)) { try rendered(v1, .v1, over: .legacy) }
    }

    /// Back over legacy, a translated legacy message is what it was; the priority is written out.
    @Test func legacyComesBackWhole() throws {
        let legacy =
            ##"{"data":{"k":"v"},"notification":{"title":"t","body":"b","subtitle":"s","badge":"1","sound":"x","##
            + ##""icon":"i","tag":"g","color":"#112233","android_channel_id":"c","click_action":"https://x","##
            + ##""title_loc_key":"K","title_loc_args":"[\"1\"]","body_loc_key":"L","body_loc_args":"[]"},"##
            + ##""priority":"normal","collapse_key":"ck","restricted_package_name":"p","##
            + ##""content_available":true,"mutable_content":true,"time_to_live":0}"##
        let v1 = try rendered(legacy, .legacy, over: .v1)
        var message = try #require(try JSONParser.parse(Array(v1.utf8)).object?["message"]?.object)
        message["token"] = nil
        let back = try rendered(JSONValue.object(message).jsonText, .v1, over: .legacy)
        #expect(try sorted(back) == sorted(#"{"to":"T","# + legacy.dropFirst()))
    }
}
