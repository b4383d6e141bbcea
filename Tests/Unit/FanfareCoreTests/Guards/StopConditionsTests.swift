import Testing

@testable import FanfareCore

@Suite struct StopConditionsTests {
    @Test(arguments: [
        ("failed>5%", "failed>5%"),
        ("failed>5%; unregistered>20%; unknown>1%", "failed>5%; unregistered>20%; unknown>1%"),
        ("failed>5%;unknown>1%", "failed>5%; unknown>1%"),
        ("  unknown  >  0.5%  ;  failed > 5.0%  ", "unknown>0.5%; failed>5%"),
        (
            "failed>1%;unknown>2%;unregistered>3%;invalid_argument>4%;sender_id_mismatch>5%;"
                + "third_party_auth_error>6%;unspecified_error>99.9%",
            "failed>1%; unknown>2%; unregistered>3%; invalid_argument>4%; sender_id_mismatch>5%; "
                + "third_party_auth_error>6%; unspecified_error>99.9%"
        ),
    ])
    func conditionsHaveACanonicalText(text: String, canonical: String) throws {
        let conditions = try StopConditions(Array(text.utf8))
        #expect(conditions.text == canonical)
        #expect(try StopConditions(Array(canonical.utf8)) == conditions)
    }

    @Test(arguments: [
        ("", "stop_if: \"\" is not a condition such as failed>5%"),
        ("failed>5%;", "stop_if: \"\" is not a condition such as failed>5%"),
        (";failed>5%", "stop_if: \"\" is not a condition such as failed>5%"),
        ("failed 5%", "stop_if: \"failed 5%\" is not a condition such as failed>5%"),
        ("failed<5%", "stop_if: \"failed<5%\" is not a condition such as failed>5%"),
        ("failed>=5%", "stop_if: \"=5%\" is not a share of 0.1% to 99.9%, with at most one decimal"),
        ("failed>5", "stop_if: \"5\" is not a share of 0.1% to 99.9%, with at most one decimal"),
        ("failed>", "stop_if: \"\" is not a share of 0.1% to 99.9%, with at most one decimal"),
        ("failed>0%", "stop_if: \"0%\" is not a share of 0.1% to 99.9%, with at most one decimal"),
        ("failed>100%", "stop_if: \"100%\" is not a share of 0.1% to 99.9%, with at most one decimal"),
        (
            "failed>5%,unknown>1%",
            "stop_if: \"5%,unknown>1%\" is not a share of 0.1% to 99.9%, with at most one decimal"
        ),
        ("failed\t>5%", "stop_if: \"failed\\u{9}\" is not one of \(names)"),
        (">5%", "stop_if: \"\" is not one of \(names)"),
        ("Failed>5%", "stop_if: \"Failed\" is not one of \(names)"),
        ("sent>5%", "stop_if: \"sent\" is not one of \(names)"),
        ("expired>5%", "stop_if: \"expired\" is not one of \(names)"),
        ("empty_group>5%", "stop_if: \"empty_group\" is not one of \(names)"),
        ("unavailable>5%", "stop_if: unavailable is retried, and retried errors are not counted"),
        ("quota_exceeded>5%", "stop_if: quota_exceeded is retried, and retried errors are not counted"),
        ("internal>5%", "stop_if: internal is retried, and retried errors are not counted"),
        ("transport>5%", "stop_if: transport is retried, and retried errors are not counted"),
        ("failed>5%; unknown>1%; failed>6%", "stop_if: failed is given more than once"),
        ("failed>5%" + String(repeating: " ", count: 248), "stop_if: 257 bytes, at most 256"),
    ])
    func otherTextIsRejected(text: String, reason: String) {
        #expect(fault { () throws(EntryFault) in try StopConditions(Array(text.utf8)) } == reason)
    }

    private static let names =
        "failed, unknown, unregistered, invalid_argument, sender_id_mismatch, third_party_auth_error, unspecified_error"

    @Test func longestTextIsRead() throws {
        let text = "failed>5%" + String(repeating: " ", count: 247)
        #expect(try StopConditions(Array(text.utf8)).text == "failed>5%")
    }

    @Test(arguments: 0..<2_000)
    func hostileTextNeverTraps(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("failed>5%; unknown.01\u{e9}".utf8) + [0, 0xFF]
        var text = Array("failed>5%; unregistered>20%; unknown>1%".utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let at = Int.random(in: 0..<text.count, using: &random)
            text[at] = alphabet.randomElement(using: &random) ?? 0
            if Bool.random(using: &random) { text.remove(at: at) }
        }
        guard let conditions = try? StopConditions(text) else { return }
        #expect((try? StopConditions(Array(conditions.text.utf8))) == conditions)
    }
}
