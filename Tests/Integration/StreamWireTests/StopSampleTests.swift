import FanfareCore
import FanfareModel
import TestSupport
import Testing

@Suite struct StopSampleTests {
    private static func sample(_ attempts: some Sequence<FirstAttempt>) -> StopSample {
        var sample = StopSample()
        for attempt in attempts { sample.record(attempt) }
        return sample
    }

    /// A sample of so many attempts with the counts of `others`; the rest was sent.
    private static func sample(_ attempts: Int, _ others: [FirstAttempt: Int]) -> StopSample {
        let failed = others.flatMap { repeatElement($0.key, count: $0.value) }
        return sample(failed + repeatElement(.sent, count: attempts - failed.count))
    }

    @Test(
        arguments: [
            (0, false, nil), (999, false, nil), (1_000, false, 1_000), (1_001, false, 1_000), (5_000, false, 1_000),
        ]
            + [(0, true, nil), (1, true, 1), (999, true, 999), (1_000, true, 1_000), (1_500, true, 1_000)]
            as [(Int, Bool, Int?)]
    )
    func sampleIsJudgedWhenFullOrAtTheEndOfTheCanary(recorded: Int, isEndOfCanary: Bool, judged: Int?) {
        let sample = Self.sample(repeatElement(.sent, count: recorded))
        #expect(sample.judged(isEndOfCanary: isEndOfCanary)?.count == judged)
        #expect(sample.attempts.count == recorded)
    }

    @Test func thousandAndFirstAttemptReplacesTheFirst() throws {
        var sample = Self.sample([.unknown] + repeatElement(.sent, count: 998) + [.failed(.unregistered)])
        func count(_ measure: StopMeasure) -> Int? {
            sample.judged(isEndOfCanary: false)?.count { measure.counts($0) }
        }
        #expect(count(.unknown) == 1)
        sample.record(.sent)
        #expect(count(.unknown) == 0)
        #expect(count(.failed) == 1)
        for _ in 0..<998 { sample.record(.retryable) }
        #expect(count(.unregistered) == 1)
        sample.record(.sent)
        #expect(count(.unregistered) == 0)
    }

    @Test func clearedSampleIsEmpty() {
        var sample = Self.sample(repeatElement(.failed(.unregistered), count: 1_234))
        sample.clear()
        #expect(sample == StopSample())
        #expect(sample.judged(isEndOfCanary: false) == nil)
        #expect(sample.judged(isEndOfCanary: true) == nil)
    }

    @Test func everyMeasureOfOneErrorCountsThatError() {
        for attempt in FirstAttempt.all {
            for measure in StopMeasure.allCases {
                let isCounted =
                    switch attempt {
                    case .sent, .retryable: false
                    case .unknown: measure == .unknown
                    case .unsendable: measure == .failed
                    case .failed(let error): measure == .failed || measure.rawValue == error.rawValue.lowercased()
                    }
                #expect(measure.counts(attempt) == isCounted, "\(measure) \(attempt)")
            }
        }
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
            // 5.005%: the figure is rounded up, so that it is above the limit.
            ("failed>5%", 999, [.failed(.unregistered): 50], "stop_if: failed 5.1% of 999, more than 5%"),
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
        let sample = Self.sample(attempts, others)
        #expect(sample.finding(try StopConditions(Array(text.utf8)), isEndOfCanary: true)?.reason == reason)
    }

    @Test(arguments: 0..<500)
    func figureIsAlwaysAboveTheLimit(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let perMille = Int.random(in: 1...999, using: &random)
        let conditions = try StopConditions(Array("failed>\(perMille / 10).\(perMille % 10)%".utf8))
        let attempts = Int.random(in: 1...1_000, using: &random)
        let failed = Int.random(in: 0...attempts, using: &random)
        let sample = Self.sample(attempts, [.failed(.unregistered): failed])
        let finding = sample.finding(conditions, isEndOfCanary: true)
        #expect((finding != nil) == (Double(failed) / Double(attempts) > Double(perMille) / 1_000 + 1e-12))
        if let finding {
            #expect(finding.perMille > perMille)
            #expect(finding.perMille - failed * 1_000 / attempts <= 1)
            #expect((finding.count, finding.attempts) == (failed, attempts))
        }
    }
}
