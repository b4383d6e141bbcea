import FCMSimulator
import FanfareJSON
import FanfareModel
import Testing

/// What all transports have in common: one vocabulary for every error, and every field of a message.
@Suite struct AllTransports {
    @Test("L50 L51 L54 L60 L63 L64 L66 X51 X52 X53 X59 X62 X63 X66: an error means the same over every transport")
    func oneVocabulary() throws {
        let final = [
            ("sbx-unregistered-1", "UNREGISTERED remove"), ("sbx-invalid-1", "INVALID_ARGUMENT remove"),
            ("sbx-mismatch-1", "SENDER_ID_MISMATCH fix_credentials"),
            ("sbx-auth-1", "THIRD_PARTY_AUTH_ERROR fix_credentials"),
        ]
        let retried = [
            ("sbx-unavailable-1-t", ErrorCode.unavailable, Retry.Scope.recipient),
            ("sbx-internal-1-t", .internalError, .recipient), ("sbx-devicerate-1-t", .quotaExceeded, .device),
        ]
        for carrier in Scene.Carrier.allCases {
            var scene = try Scene(bareErrors: true)
            for (token, failure) in final {
                #expect(
                    try scene.send(LegacyHTTPReference.score, to: ("token", token), over: carrier).failure == failure,
                    "\(carrier)"
                )
            }
            for (token, error, scope) in retried {
                let verdict = try scene.send(LegacyHTTPReference.score, to: ("token", token), over: carrier)
                let retry = try #require(verdict.retry)
                // Plain text has no word for an error of the server; its status stands for it.
                let isStatus = carrier == .plainText && error == .internalError
                #expect(retry.failure.error == (isStatus ? .unavailable : error), "\(carrier) \(token)")
                #expect(retry.scope == scope, "\(carrier) \(token)")
                #expect(try scene.tries(LegacyHTTPReference.score, to: ("token", token), over: carrier).last.isSent)
            }
        }
    }

    /// All fields of the v1 schema, except fields that exclude another one.
    static let everyField = #"""
        {"data":{"k":"v"},"notification":{"title":"T","body":"B","image":"https://example.com/i.png"},
         "fcm_options":{"analytics_label":"label"},
         "android":{"collapse_key":"c","priority":"HIGH","ttl":"3.5s","restricted_package_name":"com.example.app",
          "data":{"k":"android"},"direct_boot_ok":true,"bandwidth_constrained_ok":true,"restricted_satellite_ok":true,
          "fcm_options":{"analytics_label":"label"},
          "notification":{"title":"T","body":"B","icon":"i","color":"#a0B1c2","sound":"default","tag":"g",
           "click_action":"OPEN","body_loc_key":"b","body_loc_args":["1"],"title_loc_key":"t","title_loc_args":["2"],
           "channel_id":"news","ticker":"x","sticky":true,"event_time":"2026-11-21T10:00:00Z","local_only":true,
           "notification_priority":"PRIORITY_MAX","default_sound":true,"default_vibrate_timings":true,
           "default_light_settings":true,"vibrate_timings":["1s","0.5s"],"visibility":"PUBLIC","notification_count":3,
           "light_settings":{"color":{"red":1,"green":0.5,"blue":0,"alpha":1},"light_on_duration":"1s",
            "light_off_duration":"2s"},
           "image":"https://example.com/a.png","proxy":"IF_PRIORITY_LOWERED"}},
         "webpush":{"headers":{"TTL":"60","Urgency":"high","Topic":"score"},"data":{"k":"web"},
          "notification":{"title":"W","icon":"https://example.com/w.png","tag":"w","requireInteraction":true},
          "fcm_options":{"link":"https://example.com/","analytics_label":"label"}},
         "apns":{"headers":{"apns-priority":"10","apns-collapse-id":"c"},
          "payload":{"aps":{"alert":{"title":"A","subtitle":"S","body":"B"},"badge":1,"sound":"ping.aiff",
           "category":"C","thread-id":"x","mutable-content":1,"content-available":1},"custom":{"deep":[1]}},
          "fcm_options":{"analytics_label":"label","image":"https://example.com/p.png"}}}
        """#

    @Test("A20 A21: a message with every field reaches each platform with that platform's fields")
    func everyFieldIsTaken() throws {
        var scene = try AboutMessages.threePlatforms()
        for token in ["android", "apple", "web"] {
            scene.device(token, Device(package: "com.example.app"))
            #expect(try scene.send(Self.everyField, to: ("token", token)).isSent, "\(scene.reply.text)")
        }
        let android = try scene.arrival("android")
        #expect(android.payload["k"] == "android")
        #expect(android.shown == ["T"])
        #expect(android.badge == 3)
        #expect(android.opens == "OPEN")
        let apple = try scene.arrival("apple")
        #expect(apple.payload["k"] == "v")
        #expect(apple.shown == ["A"])
        #expect(apple.payload["custom"]?.object?["deep"] == .array([1]))
        #expect(apple.headers["apns-collapse-id"] == "c")
        let web = try scene.arrival("web")
        #expect(web.payload["data"]?.object == ["k": "web"])
        #expect(web.shown == ["W"])
        #expect(web.opens == "https://example.com/")
        #expect(web.headers["Topic"] == "score")
    }
}
