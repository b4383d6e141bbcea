import FanfareCore
import FanfareModel
import Testing

@Suite struct FirstAttemptTests {
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
        let outcomes =
            [.sent, .retryable, .unknown, .unsendable] + ErrorCode.allCases.map { FirstAttempt.failed($0) }
        let letters = outcomes.map(\.letter)
        #expect(String(decoding: letters, as: UTF8.self) == "sruLABCDEFGHIJK")
        #expect(Set(letters).count == outcomes.count)
    }
}
