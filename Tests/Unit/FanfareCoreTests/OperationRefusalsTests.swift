import Testing

@testable import FanfareCore

@Suite struct OperationRefusalsTests {
    @Test func firstRefusalRenewsTheTokenAndTheNextOneFails() {
        var refusals = OperationRefusals()
        #expect(refusals.refused(3, canRenew: true) == .renew)
        #expect(refusals.refused(3, canRenew: true) == .renew, "of many operations under one token none fails")
        #expect(refusals.refused(2, canRenew: true) == .renew)
        #expect(refusals.refused(4, canRenew: true) == .fail)
        #expect(refusals.refused(5, canRenew: true) == .fail, "nor is it renewed for each operation that follows")
    }

    @Test func acceptedTokenBeginsAnew() {
        var refusals = OperationRefusals()
        _ = refusals.refused(1, canRenew: true)
        #expect(refusals.refused(2, canRenew: true) == .fail)
        refusals.accepted()
        #expect(refusals.refused(2, canRenew: true) == .renew)
    }

    @Test func serverKeyIsNotRenewed() {
        var refusals = OperationRefusals()
        #expect(refusals.refused(0, canRenew: false) == .fail)
    }
}
