import FanfareCore
import FanfareModel
import Testing

@Suite struct PayloadFaultDetectorTests {
    static let fault = Failure(
        error: .invalidArgument,
        action: .fixMessage,
        rawError: "INVALID_ARGUMENT",
        httpStatus: 400
    )
    static let badToken = Failure(error: .invalidArgument, action: .remove, httpStatus: 400)

    @Test func fiftyOfAHundredAreNotEnough() {
        var detector = PayloadFaultDetector()
        for index in 0..<100 {
            let verdict: Verdict = index % 2 == 0 ? .failed(Self.fault) : .sent(messageID: "m", canonical: nil)
            let found = detector.observe(verdict)
            #expect(!found)
        }
        let late = detector.observe(.failed(Self.fault))
        #expect(!late, "only the first hundred count")
        #expect(detector.fault == nil)
    }

    @Test func theFiftyFirstTellsOnce() {
        var detector = PayloadFaultDetector()
        for _ in 0..<50 { _ = detector.observe(.failed(Self.fault)) }
        #expect(detector.fault == nil)
        let found = detector.observe(.failed(Self.fault))
        #expect(found)
        #expect(detector.fault == Self.fault)
        let again = detector.observe(.failed(Self.fault))
        #expect(!again)
    }

    @Test func errorsOfTheTokenDoNotBlameTheMessage() {
        var detector = PayloadFaultDetector()
        for _ in 0..<100 { _ = detector.observe(.failed(Self.badToken)) }
        #expect(detector.answers == 100)
        #expect(detector.fault == nil)
    }

    @Test func silenceIsNoAnswer() {
        var detector = PayloadFaultDetector()
        for cause in [Retry.Cause.unsent, .refused, .unanswered] {
            _ = detector.observe(.retry(Retry(failure: Self.fault, cause: cause)))
        }
        _ = detector.observe(.unknown(Self.fault, holdProjectMs: nil))
        _ = detector.observe(.blockProject(Self.fault))
        #expect(detector.answers == 0)
        _ = detector.observe(.retry(Retry(failure: Self.fault)))
        #expect(detector.answers == 1)
    }
}
