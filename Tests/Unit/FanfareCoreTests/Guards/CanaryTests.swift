import Testing

@testable import FanfareCore

@Suite struct CanaryTests {
    @Test(arguments: [
        ("1", "1"), ("1000", "1000"), ("0010", "10"), ("1000000000", "1000000000"),
        ("1%", "1%"), ("0.1%", "0.1%"), ("5.0%", "5%"), ("99.9%", "99.9%"),
    ])
    func sizeHasACanonicalText(text: String, canonical: String) throws {
        let canary = try Canary(Array(text.utf8))
        #expect(canary.text == canonical)
        #expect(try Canary(Array(canonical.utf8)) == canary)
        #expect(canary.waitMs == nil)
    }

    @Test(arguments: [
        ("", "canary: \"\" is not a number such as 1000 or a share such as 1%"),
        ("ten", "canary: \"ten\" is not a number such as 1000 or a share such as 1%"),
        ("1.5", "canary: \"1.5\" is not a number such as 1000 or a share such as 1%"),
        ("1 %", "canary: \"1 %\" is not a share of 0.1% to 99.9%, with at most one decimal"),
        ("0", "canary: 0 is not 1 to 1000000000"),
        ("1000000001", "canary: 1000000001 is not 1 to 1000000000"),
    ])
    func otherSizeIsRejected(text: String, reason: String) {
        #expect(fault { () throws(EntryFault) in try Canary(Array(text.utf8)) } == reason)
    }

    @Test(arguments: [
        "%", "0%", "0.0%", "100%", "100.0%", "01%", "00.5%", ".5%", "1.%", "1.25%", "-1%", "+1%", "1%%", "1,5%", "1e1%",
        "%1", "1.5.1%", "999%", "٣%",
    ])
    func shareOutsideItsGrammarIsNone(text: String) {
        #expect(Percentage(Array(text.utf8)) == nil)
    }

    @Test(arguments: 1...999)
    func everyTenthOfAPercentIsRead(perMille: Int) {
        let text = "\(perMille / 10).\(perMille % 10)%"
        #expect(Percentage(Array(text.utf8))?.perMille == perMille)
        #expect(Percentage(Array(Percentage.text(perMille: perMille).utf8))?.perMille == perMille)
    }

    @Test(
        arguments: [
            ("1000", 0, nil), ("1000", 999, nil), ("1000", 1_000, nil), ("1000", 1_001, 1_000), ("1", 2, 1),
            ("1", 1, nil),
            ("1%", 0, nil), ("1%", 1, nil), ("1%", 2, 1), ("1%", 100, 1), ("1%", 101, 2), ("1%", 10_000_000, 100_000),
            ("0.1%", 999, 1), ("0.1%", 1_000, 1), ("0.1%", 1_001, 2), ("99.9%", 1_000, 999), ("99.9%", 999, nil),
            ("99.9%", Int.max, 9_214_148_664_817_921_032), ("50%", -1, nil),
        ] as [(String, Int, Int?)]
    )
    func countIsRoundedUpAndSmallerThanTheJob(text: String, total: Int, count: Int?) throws {
        #expect(try Canary(Array(text.utf8)).count(total: total) == count)
    }

    @Test(arguments: [("1", 1), ("60000", 60_000), ("604800000", 604_800_000)] as [(String, Int64)])
    func waitIsRead(text: String, waitMs: Int64) throws {
        #expect(try Canary(Array("10".utf8), wait: Array(text.utf8)).waitMs == waitMs)
    }

    @Test(arguments: [
        ("", "canary_wait_ms: \"\" is not a whole number"),
        ("1s", "canary_wait_ms: \"1s\" is not a whole number"),
        ("0", "canary_wait_ms: 0 is not 1 to 604800000"),
        ("604800001", "canary_wait_ms: 604800001 is not 1 to 604800000"),
    ])
    func otherWaitIsRejected(text: String, reason: String) {
        #expect(fault { () throws(EntryFault) in try Canary(Array("10".utf8), wait: Array(text.utf8)) } == reason)
    }

    @Test func badSizeIsNamedBeforeABadWait() {
        let reason = fault { () throws(EntryFault) in try Canary(Array("0".utf8), wait: Array("0".utf8)) }
        #expect(reason == "canary: 0 is not 1 to 1000000000")
    }
}
