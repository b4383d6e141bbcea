import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct StopConditionsTests {
    /// Counts of a sample with this many attempts of each kind; the rest was sent.
    private static func counts(_ attempts: Int, _ others: [FirstAttempt: Int]) -> AttemptCounts {
        var counts = AttemptCounts()
        for (attempt, count) in others { for _ in 0..<count { counts.add(attempt) } }
        while counts.attempts < attempts { counts.add(.sent) }
        return counts
    }

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

    @Test(
        arguments: [
            ("failed>5%", 1_000, [.failed(.unregistered): 50], nil),
            ("failed>5%", 1_000, [.failed(.unregistered): 51], "stop_if: failed 5.1% of 1000, more than 5%"),
            (
                "failed>5%", 1_000, [.failed(.unregistered): 31, .failed(.emptyGroup): 31],
                "stop_if: failed 6.2% of 1000, more than 5%"
            ),
            ("failed>5%", 1_000, [.failed(.unavailable): 100], "stop_if: failed 10% of 1000, more than 5%"),
            ("failed>5%", 1_000, [.retryable: 900, .unknown: 100], nil),
            ("failed>5%", 300, [.failed(.unregistered): 15], nil),
            ("failed>5%", 300, [.failed(.unregistered): 16], "stop_if: failed 5.4% of 300, more than 5%"),
            // 5.0025%: the figure is rounded up, so that it is above the limit.
            ("failed>5%", 1_999, [.failed(.unregistered): 100], "stop_if: failed 5.1% of 1999, more than 5%"),
            ("failed>99.9%", 1_000, [.failed(.unregistered): 1_000], "stop_if: failed 100% of 1000, more than 99.9%"),
            ("unknown>0.1%", 1_000, [.unknown: 1], nil),
            ("unknown>0.1%", 1_000, [.unknown: 2], "stop_if: unknown 0.2% of 1000, more than 0.1%"),
            ("unknown>1%", 1, [.unknown: 1], "stop_if: unknown 100% of 1, more than 1%"),
            ("unknown>1%", 0, [:], nil),
            ("unregistered>1%", 100, [.failed(.invalidArgument): 100], nil),
            (
                "invalid_argument>1%", 100, [.failed(.invalidArgument): 2],
                "stop_if: invalid_argument 2% of 100, more than 1%"
            ),
            (
                "sender_id_mismatch>1%", 100, [.failed(.senderIDMismatch): 2],
                "stop_if: sender_id_mismatch 2% of 100, more than 1%"
            ),
            (
                "third_party_auth_error>1%", 100, [.failed(.thirdPartyAuthError): 2],
                "stop_if: third_party_auth_error 2% of 100, more than 1%"
            ),
            (
                "unspecified_error>1%", 100, [.failed(.unspecified): 2],
                "stop_if: unspecified_error 2% of 100, more than 1%"
            ),
            // Two conditions hold: the first one of the text is named.
            (
                "unregistered>20%; failed>5%", 100, [.failed(.unregistered): 30],
                "stop_if: unregistered 30% of 100, more than 20%"
            ),
            (
                "failed>5%; unregistered>20%", 100, [.failed(.unregistered): 30],
                "stop_if: failed 30% of 100, more than 5%"
            ),
            (
                "failed>50%; unregistered>20%", 100, [.failed(.unregistered): 30],
                "stop_if: unregistered 30% of 100, more than 20%"
            ),
        ] as [(String, Int, [FirstAttempt: Int], String?)]
    )
    func firstConditionThatHoldsIsFound(
        text: String,
        attempts: Int,
        others: [FirstAttempt: Int],
        reason: String?
    ) throws {
        let finding = try StopConditions(Array(text.utf8)).judge(Self.counts(attempts, others))
        #expect(finding?.reason == reason)
    }

    @Test(arguments: 0..<500)
    func figureIsAlwaysAboveTheLimit(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let perMille = Int.random(in: 1...999, using: &random)
        let conditions = try StopConditions(Array("failed>\(Percentage.text(perMille: perMille))".utf8))
        let attempts = Int.random(in: 1...1_000, using: &random)
        let failed = Int.random(in: 0...attempts, using: &random)
        let finding = conditions.judge(Self.counts(attempts, [.failed(.unregistered): failed]))
        #expect((finding != nil) == (Double(failed) / Double(attempts) > Double(perMille) / 1_000 + 1e-12))
        if let finding {
            #expect(finding.perMille > perMille)
            #expect(finding.perMille - failed * 1_000 / attempts <= 1)
            #expect((finding.count, finding.attempts) == (failed, attempts))
        }
    }
}
