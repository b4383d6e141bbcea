import FCMWire
import FanfareJSON
import FanfareModel
import Testing

/// Every row of the documentation's page "Translation", legacy to v1.
@Suite struct TranslationForwardTests {
    /// What every data message and every notification has besides.
    static func data(_ android: String = "", web: String = "", apns: String = "", _ rest: String = "") -> String {
        #"{"message":{"token":"T","android":{"priority":"NORMAL"\#(android)},"#
            + #""webpush":{"headers":{"Urgency":"normal"\#(web)}},"#
            + #""apns":{"headers":{"apns-priority":"5"\#(apns)}}\#(rest)}}"#
    }

    static func shown(
        _ notification: String = #""title":"t""#,
        android: String = "",
        web: String = "",
        aps: String = ""
    ) -> String {
        let common = notification.isEmpty ? "" : #""notification":{\#(notification)},"#
        let payload = aps.isEmpty ? "" : #","payload":{"aps":{\#(aps)}}"#
        let display = android.isEmpty ? "" : #","notification":{\#(android)}"#
        return #"{"message":{"token":"T",\#(common)"android":{"priority":"HIGH"\#(display)},"#
            + #""webpush":{"headers":{"Urgency":"high"}\#(web)},"#
            + #""apns":{"headers":{"apns-priority":"10"}\#(payload)}}}"#
    }

    static let options: [(String, String)] = [
        ("{}", data()),
        (#"{"delay_while_idle":true,"dry_run":false,"collapse_key":"","priority":null}"#, data()),
        (#"{"data":{"k":"v"}}"#, data(#""#, #","data":{"k":"v"}"#)),
        (
            #"{"data":{"n":1.50,"b":true,"o":{"x": [1, null]},"a":[ "y" ]}}"#,
            data("", #","data":{"n":"1.50","b":"true","o":"{\"x\":[1,null]}","a":"[\"y\"]"}"#)
        ),
        (#"{"notification":{"title":"t"}}"#, shown()),
        // Priority: written as said, 5 for Apple when there is nothing to show.
        (#"{"notification":{"title":"t"},"priority":"high"}"#, shown()),
        (
            #"{"notification":{"title":"t"},"priority":"normal"}"#,
            #"{"message":{"token":"T","notification":{"title":"t"},"android":{"priority":"NORMAL"},"#
                + #""webpush":{"headers":{"Urgency":"normal"}},"apns":{"headers":{"apns-priority":"5"}}}}"#
        ),
        (
            #"{"priority":"high"}"#,
            #"{"message":{"token":"T","android":{"priority":"HIGH"},"#
                + #""webpush":{"headers":{"Urgency":"high"}},"apns":{"headers":{"apns-priority":"5"}}}}"#
        ),
        (
            #"{"content_available":true,"mutable_content":false}"#,
            #"{"message":{"token":"T","android":{"priority":"NORMAL"},"webpush":{"headers":{"Urgency":"normal"}},"#
                + #""apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"content-available":1}}}}}"#
        ),
        (#"{"notification":{"title":"t"},"mutable_content":true}"#, shown(aps: #""mutable-content":1"#)),
        // Time: an attempt at second 1,000.
        (#"{"time_to_live":60}"#, data(#","ttl":"60s""#, web: #","TTL":"60""#, apns: #","apns-expiration":"1060""#)),
        (#"{"time_to_live":0}"#, data(#","ttl":"0s""#, web: #","TTL":"0""#, apns: #","apns-expiration":"0""#)),
        (
            #"{"collapse_key":"score"}"#,
            data(#","collapseKey":"score""#, web: #","Topic":"score""#, apns: #","apns-collapse-id":"score""#)
        ),
        (#"{"restricted_package_name":"a.b"}"#, data(#","restrictedPackageName":"a.b""#)),
        (
            #"{"dry_run":true}"#,
            String(data().dropLast()) + #","validateOnly":true}"#
        ),
    ]

    static let notifications: [(String, String)] = [
        (#""title":"t","body":"b""#, shown(#""title":"t","body":"b""#)),
        (#""title":"t","subtitle":"s""#, shown(aps: #""alert":{"title":"t","subtitle":"s"}"#)),
        (#""title":"t","sound":"default""#, shown(android: #""sound":"default""#, aps: #""sound":"default""#)),
        (#""title":"t","sound":{"critical":1,"name":"x"}"#, shown(aps: #""sound":{"critical":1,"name":"x"}"#)),
        (#""title":"t","badge":"7""#, shown(aps: #""badge":7"#)),
        (#""title":"t","badge":0"#, shown(aps: #""badge":0"#)),
        (#""title":"t","icon":"bell""#, shown(android: #""icon":"bell""#)),
        (#""title":"t","icon":"https://x/i.png""#, shown(web: #","notification":{"icon":"https://x/i.png"}"#)),
        (#""title":"t","icon":"http://x/i.png""#, shown()),
        (
            ##""title":"t","tag":"g","color":"#ff0000","android_channel_id":"c""##,
            shown(android: ##""tag":"g","color":"#ff0000","channelId":"c""##)
        ),
        (#""title":"t","click_action":"OPEN""#, shown(android: #""clickAction":"OPEN""#, aps: #""category":"OPEN""#)),
        (
            #""title":"t","click_action":"https://x/""#,
            shown(
                android: #""clickAction":"https://x/""#,
                web: #","fcmOptions":{"link":"https://x/"}"#,
                aps: #""category":"https://x/""#
            )
        ),
        (
            #""title":"t","body_loc_key":"B","body_loc_args":"[\"1\",\"2\"]""#,
            shown(
                android: #""bodyLocKey":"B","bodyLocArgs":["1","2"]"#,
                aps: #""alert":{"title":"t","loc-key":"B","loc-args":["1","2"]}"#
            )
        ),
        (
            #""title_loc_key":"K","title_loc_args":["1"]"#,
            shown(
                "",
                android: #""titleLocKey":"K","titleLocArgs":["1"]"#,
                aps: #""alert":{"title-loc-key":"K","title-loc-args":["1"]}"#
            )
        ),
    ]

    @Test(arguments: options)
    func translatesOptions(legacy: String, v1: String) throws {
        #expect(try sorted(try rendered(legacy, .legacy, over: .v1)) == sorted(v1))
    }

    @Test(arguments: notifications)
    func translatesNotifications(fields: String, v1: String) throws {
        #expect(try sorted(try rendered(#"{"notification":{\#(fields)}}"#, .legacy, over: .v1)) == sorted(v1))
    }

    static let refused: [(String, String)] = [
        ("[]", "message: must be an object"),
        ("{", "message: not JSON: byte 1: an object's member must start with a name in double quotes"),
        (#"{"to":"x"}"#, "message.to: the target belongs in the job's own field"),
        (#"{"colour":"x"}"#, "message.colour: unknown field"),
        (#"{"notification":{"image":"x"}}"#, "message.notification.image: unknown field"),
        (#"{"notification":"x"}"#, "message.notification: must be an object, not a string"),
        (#"{"notification":{"title":1}}"#, "message.notification.title: must be a string, not a number"),
        (
            #"{"notification":{"badge":"many"}}"#,
            "message.notification.badge: must be a whole number, written as a string"
        ),
        (
            #"{"notification":{"body_loc_args":"1,2"}}"#,
            "message.notification.body_loc_args: must be a JSON array of strings, written as a string"
        ),
        (#"{"data":{"k":null}}"#, "message.data.k: null has no text form"),
        (#"{"data":[]}"#, "message.data: must be an object, not an array"),
        (#"{"priority":"urgent"}"#, "message.priority: must be normal or high"),
        (#"{"time_to_live":2419201}"#, "message.time_to_live: must be an integer from 0 to 2419200"),
        (#"{"time_to_live":1.5}"#, "message.time_to_live: must be an integer from 0 to 2419200"),
        (#"{"content_available":1}"#, "message.content_available: must be a boolean, not a number"),
        (#"{"dry_run":"true"}"#, "message.dry_run: must be a boolean, not a string"),
    ]

    @Test(arguments: refused)
    func refusesByName(legacy: String, reason: String) {
        #expect(throws: TranslationError(reason: reason)) { try rendered(legacy, .legacy, over: .v1) }
    }

    @Test func hashesCollapseKeysThatDoNotFit() throws {
        func headers(_ key: String) throws -> (id: String?, topic: String?, android: String?) {
            let body = try rendered(#"{"collapse_key":"\#(key)"}"#, .legacy, over: .v1)
            let message = try JSONParser.parse(Array(body.utf8)).object?["message"]?.object
            return (
                message?["apns"]?.object?["headers"]?.object?["apns-collapse-id"]?.string,
                message?["webpush"]?.object?["headers"]?.object?["Topic"]?.string,
                message?["android"]?.object?["collapseKey"]?.string
            )
        }
        let fits = String(repeating: "a", count: 32)
        #expect(try headers(fits) == (fits, fits, fits))
        let long = String(repeating: "a", count: 64)
        // The first half of SHA-256, as any other implementation gives it.
        #expect(try headers(long) == (long, "ffe054fe7ae0cb6dc65c3af9b61d5209", long))
        let longer = try headers(long + "a")
        #expect(longer.id == longer.topic)
        #expect(longer.id?.utf8.count == 32)
        // A dot is no base64url character; a letter outside ASCII is no header character.
        #expect(try headers("a.b").id == "a.b")
        #expect(try headers("a.b").topic?.utf8.count == 32)
        #expect(try headers("é").id?.utf8.count == 32)
    }
}
