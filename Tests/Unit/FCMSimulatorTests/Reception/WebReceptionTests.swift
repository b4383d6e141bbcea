import FanfareJSON
import Testing

@testable import FCMSimulator

/// The headers and body of a web push, and what the page makes of it.
@Suite struct WebReceptionTests {
    struct HeaderRow: CustomTestStringConvertible, Sendable {
        var fact: String
        var message: String
        var isLegacy: Bool
        var name: String
        var value: String?

        var testDescription: String { fact }
    }

    @Test(arguments: [
        HeaderRow(
            fact: "TTL, as the overview's example sets it",
            message: #""webpush":{"headers":{"TTL":"86400"}}"#,
            isLegacy: false,
            name: "TTL",
            value: "86400"
        ),
        HeaderRow(fact: "four weeks by default", message: "", isLegacy: false, name: "TTL", value: "2419200"),
        HeaderRow(
            fact: "Urgency, whatever its case",
            message: #""webpush":{"headers":{"urgency":"high"}}"#,
            isLegacy: false,
            name: "Urgency",
            value: "high"
        ),
        HeaderRow(
            fact: "Topic collapses",
            message: #""webpush":{"headers":{"Topic":"t"}}"#,
            isLegacy: false,
            name: "Topic",
            value: "t"
        ),
        HeaderRow(
            fact: "Android's options stay there",
            message: #""android":{"collapse_key":"c","ttl":"1s","priority":"high"}"#,
            isLegacy: false,
            name: "Topic",
            value: nil
        ),
        HeaderRow(fact: "time_to_live", message: #""time_to_live":7"#, isLegacy: true, name: "TTL", value: "7"),
        HeaderRow(fact: "priority", message: #""priority":"high""#, isLegacy: true, name: "Urgency", value: "high"),
        HeaderRow(fact: "data are normal", message: #""data":{}"#, isLegacy: true, name: "Urgency", value: "normal"),
        HeaderRow(fact: "collapse_key", message: #""collapse_key":"c""#, isLegacy: true, name: "Topic", value: "c"),
        HeaderRow(
            fact: "a collapse key that is no Topic",
            message: #""collapse_key":"a b""#,
            isLegacy: true,
            name: "Topic",
            value: nil
        ),
    ]) func `the push has its headers`(row: HeaderRow) {
        let receiver = Receiver(.web)
        let result = row.isLegacy ? receiver.legacy(row.message) : receiver.v1(row.message)
        #expect(result.headers[row.name]?.string == row.value)
    }

    @Test func `the web's block is merged over the message`() {
        let payload = Receiver(.web).v1(
            #""notification":{"title":"T","body":"B","image":"https://i"},"data":{"a":"1","b":"2"},"#
                + #""webpush":{"notification":{"title":"W","requireInteraction":true},"data":{"a":"own"},"#
                + #""fcm_options":{"link":"https://example.com/x"}},"android":{"notification":{"title":"A"}}"#
        ).payload
        let shown: JSONObject = ["title": "W", "body": "B", "image": "https://i", "requireInteraction": true]
        #expect(payload["notification"] == .object(shown))
        #expect(payload["data"] == .object(["a": "own"]))
        #expect(payload["fcmOptions"] == .object(["link": "https://example.com/x"]))
        #expect(payload["from"] == "1234567890" && payload["fcmMessageId"] == "1581529388050227")
    }

    @Test func `a legacy notification brings the web's fields and its link`() {
        let result = Receiver(.web).legacy(
            #""notification":{"title":"T","icon":"https://i","tag":"x","badge":"1","click_action":"https://l"}"#
        )
        #expect(result.payload["notification"] == .object(["title": "T", "icon": "https://i"]))
        #expect(result.payload["fcmOptions"] == .object(["link": "https://l"]))
        #expect(result.callbacks.last?.opens == "https://l")
    }

    struct CallRow: CustomTestStringConvertible, Sendable {
        var fact: String
        var state: AppState
        var message: String
        var calls: [String]

        var testDescription: String { fact }
    }

    @Test(arguments: [
        CallRow(
            fact: "a page in the foreground is handed both",
            state: .foreground,
            message: #""notification":{"title":"T"},"data":{"k":"v"}"#,
            calls: ["onMessage@arrival"]
        ),
        CallRow(
            fact: "without a page a notification is shown",
            state: .background,
            message: #""notification":{"title":"T"}"#,
            calls: ["shown@arrival", "onBackgroundMessage@arrival", "notificationclick@tap"]
        ),
        CallRow(
            fact: "data go to the service worker",
            state: .background,
            message: #""data":{"k":"v"}"#,
            calls: ["onBackgroundMessage@arrival"]
        ),
        CallRow(
            fact: "data go to a page in the foreground",
            state: .foreground,
            message: #""data":{"k":"v"}"#,
            calls: ["onMessage@arrival"]
        ),
    ]) func `it is shown or handed over`(row: CallRow) {
        let result = Receiver(.web, row.state).v1(row.message)
        #expect(result.calls == row.calls)
        #expect((result.shown != nil) == row.calls.contains("shown@arrival"))
    }
}
