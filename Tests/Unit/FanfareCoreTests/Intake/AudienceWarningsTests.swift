import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct AudienceWarningsTests {
    private static let hour = AudienceWarnings.pauseNs

    @Test func warnsOnceAnHourForEachTopic() {
        var warnings = AudienceWarnings()
        #expect(warnings.sentence(.none, name: "a", now: 5)?.contains("is not known") == true)
        #expect(warnings.sentence(.none, name: "a", now: 4 + Self.hour) == nil)
        #expect(warnings.sentence(.counted, name: "b", now: 6)?.contains("lower bound") == true)
        #expect(warnings.sentence(.none, name: "a", now: 5 + Self.hour) != nil)
        #expect(warnings.sentence(.counted, name: "a", now: 6 + Self.hour) == nil)
    }

    @Test func knownSizeNeedsNoWarning() {
        var warnings = AudienceWarnings()
        #expect(warnings.sentence(.job, name: "a", now: 1) == nil)
        #expect(warnings.sentence(.config, name: "a", now: 1) == nil)
        #expect(warnings.sentence(.none, name: "a", now: 1) != nil)
    }

    @Test func remembersABoundedNumberOfNames() {
        var warnings = AudienceWarnings()
        for index in 0..<AudienceWarnings.most {
            #expect(warnings.sentence(.none, name: "\(index)", now: 1) != nil)
        }
        #expect(warnings.sentence(.none, name: "more", now: 2) == nil)
        #expect(warnings.sentence(.none, name: "more", now: 2 + Self.hour) != nil)
    }
}
