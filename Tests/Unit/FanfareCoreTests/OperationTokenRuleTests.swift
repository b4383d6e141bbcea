import Testing

@testable import FanfareCore

@Suite struct OperationTokenRuleTests {
    @Test func firstRefusalRenewsTheTokenAndTheNextOneFails() {
        var rule = OperationTokenRule()
        #expect(rule.refused(3, canRenew: true) == .renew)
        #expect(rule.refused(3, canRenew: true) == .renew, "of many operations under one token none fails")
        #expect(rule.refused(2, canRenew: true) == .renew)
        #expect(rule.refused(4, canRenew: true) == .fail)
        #expect(rule.refused(5, canRenew: true) == .fail, "nor is it renewed for each operation that follows")
    }

    @Test func acceptedTokenBeginsAnew() {
        var rule = OperationTokenRule()
        _ = rule.refused(1, canRenew: true)
        #expect(rule.refused(2, canRenew: true) == .fail)
        rule.accepted()
        #expect(rule.refused(2, canRenew: true) == .renew)
    }

    @Test func serverKeyIsNotRenewed() {
        var rule = OperationTokenRule()
        #expect(rule.refused(0, canRenew: false) == .fail)
    }
}
