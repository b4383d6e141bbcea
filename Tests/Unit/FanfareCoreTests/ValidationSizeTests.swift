import FanfareCore
import FanfareModel
import Testing

@Suite struct ValidationSizeTests {
    private static func text(_ count: Int) -> String { String(repeating: "v", count: count) }

    /// A key of one byte and a value that brings the data to so many bytes.
    private static func data(_ total: Int) -> String { "{\"data\":{\"k\":\"\(text(total - 1))\"}}" }

    @Test(arguments: [1, 4_095, 4_096]) func messageUpTo4096BytesFitsAToken(_ bytes: Int) {
        #expect(EntryBuilder.reason(["message": Self.data(bytes)]) == nil)
        #expect(EntryBuilder.reason(["group": "K", "message": Self.data(bytes)]) == nil)
        #expect(EntryBuilder.reason(["message": Self.data(bytes), "format": "legacy"]) == nil)
    }

    @Test(arguments: [4_097, 5_012]) func messageAbove4096BytesIsTooLargeForAToken(_ bytes: Int) {
        let reason = "message.data: \(bytes) bytes, at most 4096"
        #expect(EntryBuilder.reason(["message": Self.data(bytes)]) == reason)
        #expect(EntryBuilder.reason(["message": Self.data(bytes), "format": "legacy"]) == reason)
    }

    @Test(arguments: [2_047, 2_048]) func messageUpTo2048BytesFitsATopic(_ bytes: Int) {
        #expect(EntryBuilder.reason(["topic": "t", "message": Self.data(bytes)]) == nil)
        #expect(EntryBuilder.reason(["condition": "'t' in topics", "message": Self.data(bytes)]) == nil)
    }

    @Test func messageAbove2048BytesIsTooLargeForATopic() {
        let reason = "message.data: 2049 bytes, at most 2048 for a topic"
        #expect(EntryBuilder.reason(["topic": "t", "message": Self.data(2_049)]) == reason)
        #expect(EntryBuilder.reason(["condition": "'t' in topics", "message": Self.data(2_049)]) == reason)
        #expect(EntryBuilder.reason(["topic": "t", "message": Self.data(2_049), "format": "legacy"]) == reason)
    }

    @Test func sizeCountsBytesAndNeitherCharactersNorEscapes() {
        // 2,047 two-byte characters and a key of two bytes make 4,096.
        let umlauts = String(repeating: "ü", count: 2_047)
        #expect(EntryBuilder.reason(["message": "{\"data\":{\"ü\":\"\(umlauts)\"}}"]) == nil)
        let escaped = String(repeating: "\\u00fc", count: 2_047)
        #expect(EntryBuilder.reason(["message": "{\"data\":{\"ü\":\"\(escaped)\"}}"]) == nil)
        #expect(
            EntryBuilder.reason(["message": "{\"data\":{\"üx\":\"\(escaped)\"}}"])
                == "message.data: 4097 bytes, at most 4096"
        )
    }

    @Test func dataAndNotificationCountTogether() {
        // `title` and `k` are six bytes.
        func message(_ bytes: Int) -> String {
            "{\"notification\":{\"title\":\"\(Self.text(2_000))\"},\"data\":{\"k\":\"\(Self.text(bytes - 2_006))\"}}"
        }
        #expect(EntryBuilder.reason(["message": message(4_096)]) == nil)
        #expect(EntryBuilder.reason(["message": message(4_096), "format": "legacy"]) == nil)
        #expect(
            EntryBuilder.reason(["message": message(4_097)])
                == "message: 4097 bytes of data and notification, at most 4096"
        )
        #expect(
            EntryBuilder.reason(["message": "{\"notification\":{\"body\":\"\(Self.text(4_093))\"}}"])
                == "message.notification: 4097 bytes, at most 4096"
        )
    }

    @Test func platformInheritsFieldsThatItDoesNotReplace() {
        let half = Self.text(2_047)
        let more = Self.text(2_048)
        // Replaced data does not count for that platform, and platforms do not add up.
        #expect(
            EntryBuilder.reason([
                "message": """
                {"data":{"k":"\(half)"},
                "android":{"data":{"k":"\(Self.text(4_000))"}},"webpush":{"data":{"k":"\(more)"}}}
                """
            ]) == nil
        )
        #expect(
            EntryBuilder.reason([
                "message": "{\"data\":{\"k\":\"\(half)\"},\"android\":{\"notification\":{\"tag\":\"\(half)\"}}}"
            ]) == "message.android: 4098 bytes with what it inherits, at most 4096"
        )
        #expect(
            EntryBuilder.reason([
                "message":
                    "{\"notification\":{\"title\":\"\(half)\"},\"android\":{\"notification\":{\"title\":\"\(more)\"}}}"
            ]) == nil
        )
        #expect(
            EntryBuilder.reason([
                "message": """
                {"data":{"k":"\(half)"},"android_v2":{"remote_notification":{"notification":{"tag":"\(half)"}}}}
                """
            ]) == "message.android_v2: 4098 bytes with what it inherits, at most 4096"
        )
        #expect(
            EntryBuilder.reason([
                "message": "{\"data\":{\"k\":\"\(half)\"},\"webpush\":{\"notification\":{\"a\":[\"\(half)\",1]}}}"
            ]) == "message.webpush: 4097 bytes with what it inherits, at most 4096"
        )
        #expect(
            EntryBuilder.reason([
                "message": "{\"data\":{\"k\":\"\(half)\"},\"apns\":{\"payload\":{\"k\":{\"b\":\"\(half)\"}}}}"
            ]) == "message.apns: 4097 bytes with what it inherits, at most 4096"
        )
    }

    @Test func alertReplacesTitleAndBodyOnApple() {
        func message(alert: String) -> String {
            """
            {"notification":{"title":"\(Self.text(2_000))","body":"\(Self.text(1_000))"},
            "apns":{"payload":{"aps":{\(alert)"sound":"\(Self.text(2_000))"}}}}
            """
        }
        #expect(EntryBuilder.reason(["message": message(alert: "\"alert\":\"x\",")]) == nil)
        #expect(
            EntryBuilder.reason(["message": message(alert: "")])
                == "message.apns: 5017 bytes with what it inherits, at most 4096"
        )
    }

    @Test func legacyValuesCountAsTheirJSONText() {
        func message(_ count: Int) -> String {
            "{\"data\": {\"n\": 12.50, \"b\" : true, \"o\": {\"a\": [1, null]}, \"k\":\"\(Self.text(count))\"}}"
        }
        // n12.50 btrue o{"a":[1,null]} k
        let others = 6 + 5 + 15 + 1
        #expect(EntryBuilder.reason(["message": message(4_096 - others), "format": "legacy"]) == nil)
        #expect(
            EntryBuilder.reason(["message": message(4_097 - others), "format": "legacy"])
                == "message.data: 4097 bytes, at most 4096"
        )
    }
}
