import FanfareClient
import FanfareJSON
import FanfareModel
import Testing

@testable import FCMSimulator

/// An app's side of what the simulator delivers.
@Suite struct ReceivedNotificationTests {
    private static func decoded(_ reception: Reception) throws -> ReceivedNotification {
        try ReceivedNotification(json: JSONValue.object(reception.payload).jsonBytes)
    }

    @Test func `the guide's example is parsed`() throws {
        let received = try Self.decoded(
            Receiver(.apple).v1(
                #""notification":{"title":"Portugal vs. Denmark","body":"great match!"},"#
                    + #""data":{"customKey":"customValue"},"apns":{"payload":{"aps":{"badge":1,"sound":"default","#
                    + #""category":"OPEN","mutable-content":1,"thread-id":"scores"}}}"#
            )
        )
        #expect(received.alert?.title == "Portugal vs. Denmark" && received.alert?.body == "great match!")
        #expect(received.badge == 1)
        #expect(received.sound == .named("default"))
        #expect(received.category == "OPEN" && received.threadID == "scores")
        #expect(received.isMutable && !received.isSilent && !received.isContentAvailable)
        #expect(received.messageID == "1581529388050227")
        #expect(received.senderID == "1234567890")
        #expect(received.installationID == InstallationID.of("t"))
        #expect(received.isForAnalytics && received.analyticsLabel == nil)
        #expect(received["customKey"] == "customValue" && received.customKeys.count == 1)
    }

    @Test func `a legacy message brings localized texts, a critical sound and an image`() throws {
        let received = try Self.decoded(
            Receiver(.apple).legacy(
                #""notification":{"subtitle":"S","title_loc_key":"TK","title_loc_args":"[\"a\"]","#
                    + #""body_loc_key":"BK","body_loc_args":["b","c"],"sound":{"critical":1,"name":"s","volume":0.5},"#
                    + #""badge":"0","click_action":"REPLY","image":"https://i"},"mutable_content":true"#
            )
        )
        let alert = try #require(received.alert)
        #expect(alert.subtitle == "S" && alert.title == nil)
        #expect(alert.titleKey == "TK" && alert.titleArguments == ["a"])
        #expect(alert.bodyKey == "BK" && alert.bodyArguments == ["b", "c"])
        #expect(received.sound == .adjusted(name: "s", volume: 0.5, isCritical: true))
        #expect(received.badge == 0 && received.category == "REPLY" && received.imageURL == "https://i")
    }

    @Test func `a silent push is silent from every protocol`() throws {
        let receiver = Receiver(.apple)
        for reception in [
            receiver.v1(#""data":{"score":"3x1"},"apns":{"payload":{"aps":{"content-available":1}}}"#),
            receiver.legacy(#""data":{"score":"3x1"},"content_available":true"#),
            receiver.plainText("data.score=3x1"),
        ] {
            let received = try Self.decoded(reception)
            #expect(received.isSilent && received.alert == nil)
            #expect(received["score"] == "3x1" && received.messageID == "1581529388050227")
        }
    }

    @Test func `an untyped dictionary is parsed as its JSON is`() throws {
        let reception = Receiver(.apple).v1(
            #""notification":{"title":"T"},"data":{"k":"v"},"#
                + #""apns":{"payload":{"aps":{"badge":2,"content-available":1},"own":{"list":[1,true,0.5,"x"]}}}"#
        )
        var userInfo: [AnyHashable: Any] = [
            "aps": ["alert": ["title": "T"], "badge": 2, "content-available": 1] as [AnyHashable: Any],
            "own": ["list": [1, true, 0.5, "x"] as [Any]] as [AnyHashable: Any],
        ]
        for member in reception.payload.members {
            if let text = member.value.string { userInfo[member.key] = text }
        }
        var fromJSON = try Self.decoded(reception)
        fromJSON.customKeys.members.sort { $0.key < $1.key }
        #expect(ReceivedNotification(userInfo: userInfo) == fromJSON)
    }

    struct OddRow: CustomTestStringConvertible, Sendable {
        var payload: String
        var isSilent = false
        var body: String?

        var testDescription: String { payload }
    }

    @Test(arguments: [
        OddRow(payload: "{}"),
        OddRow(payload: #"{"aps":[]}"#),
        OddRow(payload: #"{"aps":{"alert":"text"}}"#, body: "text"),
        OddRow(payload: #"{"aps":{"alert":{"body":7},"badge":"1","sound":{},"category":[]}}"#),
        OddRow(payload: #"{"aps":{"alert":"","content-available":1}}"#, isSilent: true),
        OddRow(payload: #"{"aps":{"badge":1e400,"content-available":true}}"#, isSilent: true),
        OddRow(payload: #"{"aps":{"badge":99999999999999999999,"content-available":"1"}}"#, isSilent: true),
        OddRow(payload: #"{"aps":{"content-available":2}}"#),
        OddRow(payload: #"{"gcm.message_id":7,"fcm_options":"x","google.c.a.e":null}"#),
    ]) func `what has another type is left out`(row: OddRow) throws {
        let received = try ReceivedNotification(json: Array(row.payload.utf8))
        #expect(received.isSilent == row.isSilent)
        #expect(received.alert?.body == row.body)
        #expect(received.badge == nil && received.sound == nil && received.category == nil)
        #expect(received.messageID == nil && received.imageURL == nil && !received.isForAnalytics)
        #expect(received.customKeys.isEmpty)
    }

    @Test(arguments: ["", "[]", "7", "{", #"{"aps":}"#, #"{"k":"\ud800"}"#])
    func `a payload that is no JSON object is an error`(text: String) {
        #expect(throws: JSONError.self) { try ReceivedNotification(json: Array(text.utf8)) }
    }

    @Test func `depth and odd values of a dictionary are bounded`() {
        var deep: Any = "end"
        for _ in 0..<10_000 { deep = [deep] }
        struct Stranger: Hashable {}
        let received = ReceivedNotification(userInfo: [
            "deep": deep, 7: "no text", Stranger(): "no text", "stranger": Stranger(), "nan": Double.nan,
            "huge": Double.greatestFiniteMagnitude, "aps": ["badge": Double.infinity] as [AnyHashable: Any],
        ])
        #expect(received.badge == nil)
        #expect(received.customKeys.members.map(\.key) == ["deep", "huge"])
    }

    @Test func `no payload traps`() throws {
        var random = SplitMix64(seed: 5)
        let seeds = [
            Receiver(.apple).v1(#""notification":{"title":"T","body":"B"},"data":{"k":"v"}"#),
            Receiver(.apple).legacy(#""notification":{"badge":"7","sound":{"name":"s","critical":1}}"#),
        ].map { JSONValue.object($0.payload).jsonBytes }
        let spice = Array(#"{}[]",:0e9-+.\u"#.utf8)
        var read = 0
        for round in 0..<20_000 {
            var bytes = seeds[round % seeds.count]
            for _ in 0...Int(random.next() % 4) {
                let place = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 4 {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes[place] = spice[Int(random.next() % UInt64(spice.count))]
                case 2: bytes.remove(at: place)
                default: bytes.insert(spice[Int(random.next() % UInt64(spice.count))], at: place)
                }
                if bytes.isEmpty { bytes = [0] }
            }
            guard let received = try? ReceivedNotification(json: bytes) else { continue }
            read += 1
            _ = received.isSilent
        }
        // Most changes land inside a text and leave it JSON; were none read, nothing would have been tried.
        #expect(read > 1_000 && read < 20_000)
    }
}
