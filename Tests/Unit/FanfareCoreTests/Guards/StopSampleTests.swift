import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct StopSampleTests {
    /// The specification: every attempt in order, from which the last ones are counted anew.
    private struct NaiveSample {
        var attempts: [FirstAttempt] = []

        func count(_ measure: StopMeasure) -> Int {
            attempts.suffix(1_000).filter { attempt in
                switch attempt {
                case .sent, .retryable: false
                case .unknown: measure == .unknown
                case .unsendable: measure == .failed
                case .failed(let error): measure == .failed || measure.rawValue == error.rawValue.lowercased()
                }
            }.count
        }
    }

    private static func sample(_ attempts: some Sequence<FirstAttempt>) -> StopSample {
        var sample = StopSample()
        for attempt in attempts { sample.record(attempt) }
        return sample
    }

    @Test(
        arguments: [
            (.sent, nil, .sent),
            (.failed, .unregistered, .failed(.unregistered)),
            (.failed, nil, .failed(.unspecified)),
            (.unknown, nil, .unknown),
            (.cancelled, nil, nil),
            (.expired, nil, nil),
        ] as [(ResultStatus, ErrorCode?, FirstAttempt?)]
    )
    func resultOfAFirstAttemptIsItsOutcome(status: ResultStatus, error: ErrorCode?, outcome: FirstAttempt?) {
        #expect(FirstAttempt(status, error: error) == outcome)
    }

    /// Letters are stored: a change breaks the samples of running jobs.
    @Test func lettersStayAsTheyAre() {
        #expect(String(decoding: FirstAttempt.all.map(\.letter), as: UTF8.self) == "sruLABCDEFGHIJK")
        for attempt in FirstAttempt.all { #expect(FirstAttempt(letter: attempt.letter) == attempt) }
        let known = Set(FirstAttempt.all.map(\.letter))
        #expect(known.count == FirstAttempt.all.count)
        for letter in 0...UInt8.max where !known.contains(letter) { #expect(FirstAttempt(letter: letter) == nil) }
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
        #expect(sample.counts(isEndOfCanary: isEndOfCanary)?.attempts == judged)
        #expect(sample.attempts == Int64(recorded))
    }

    @Test func thousandAndFirstAttemptReplacesTheFirst() {
        var sample = Self.sample([.unknown] + repeatElement(.sent, count: 998) + [.failed(.unregistered)])
        #expect(sample.counts(isEndOfCanary: false)?[.unknown] == 1)
        sample.record(.sent)
        #expect(sample.counts(isEndOfCanary: false)?[.unknown] == 0)
        #expect(sample.counts(isEndOfCanary: false)?[.failed] == 1)
        for _ in 0..<998 { sample.record(.retryable) }
        #expect(sample.counts(isEndOfCanary: false)?[.unregistered] == 1)
        sample.record(.sent)
        #expect(sample.counts(isEndOfCanary: false)?[.unregistered] == 0)
    }

    @Test func clearedSampleStartsAnew() {
        var sample = Self.sample(repeatElement(.failed(.unregistered), count: 1_234))
        sample.clear()
        #expect(sample == StopSample())
        #expect(sample.counts(isEndOfCanary: false) == nil)
        #expect(sample.counts(isEndOfCanary: true) == nil)
    }

    @Test(arguments: 0..<60)
    func countsAreThoseOfTheLastThousand(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var (sample, naive) = (StopSample(), NaiveSample())
        let mix = (0..<6).map { _ in FirstAttempt.all.randomElement(using: &random) ?? .sent } + [.sent, .retryable]
        for step in 0..<Int.random(in: 1...3_500, using: &random) {
            let attempt = mix.randomElement(using: &random) ?? .sent
            sample.record(attempt)
            naive.attempts.append(attempt)
            if step % 501 == 0 {
                let stored = StopSample(letters: sample.letters, attempts: sample.attempts)
                #expect(stored == sample)
                sample = stored ?? sample
            }
            guard step % 97 == 0 || step > 995 && step < 1_005 else { continue }
            let counts = try #require(sample.counts(isEndOfCanary: true))
            #expect(counts.attempts == min(step + 1, 1_000))
            for measure in StopMeasure.allCases { #expect(counts[measure] == naive.count(measure)) }
        }
    }

    @Test(
        arguments: [
            ("", 0, true), ("s", 1, true), ("ssu", 3, true), ("", 1, false), ("s", 0, false), ("s", 2, false),
            ("s", -1, false),
            ("", -1, false), ("x", 1, false), ("\u{0}", 1, false), ("S", 1, false), ("M", 1, false),
        ] as [(String, Int64, Bool)]
    )
    func storedSampleMustFitItsNumber(letters: String, attempts: Int64, isSample: Bool) {
        #expect((StopSample(letters: Array(letters.utf8), attempts: attempts) != nil) == isSample)
    }

    @Test(arguments: [
        (1_000, 1_000, true), (1_000, 1 << 53, true), (1_000, (1 << 53) + 1, false), (1_000, .max, false),
        (999, 1_000, false), (1_001, 1_001, false),
    ])
    func fullSampleHasAThousandLetters(letters: Int, attempts: Int64, isSample: Bool) {
        let sample = StopSample(letters: [UInt8](repeating: UInt8(ascii: "s"), count: letters), attempts: attempts)
        #expect((sample != nil) == isSample)
    }
}
