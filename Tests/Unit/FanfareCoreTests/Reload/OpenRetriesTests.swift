import Testing

@testable import FanfareCore

@Suite struct OpenRetriesTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func pausesDoubleUpToAMinute() {
        var retries = OpenRetries()
        #expect((0..<8).map { _ in retries.failed("a", now: 0) / 1_000 } == [1, 2, 4, 8, 16, 32, 60, 60])
    }

    @Test func failedProjectIsOpenedWhenItsPauseIsOver() {
        var retries = OpenRetries()
        #expect(retries.admits("a", now: 0))
        _ = retries.failed("a", now: 5 * Self.second)
        #expect(!retries.admits("a", now: 6 * Self.second - 1) && retries.admits("a", now: 6 * Self.second))
        #expect(retries.admits("b", now: 5 * Self.second), "another project does not wait")
    }

    @Test func openedProjectBeginsAnewWithTheShortestPause() {
        var retries = OpenRetries()
        for _ in 0..<5 { _ = retries.failed("a", now: 0) }
        retries.opened("a")
        #expect(retries.admits("a", now: 0))
        #expect(retries.failed("a", now: 0) == 1_000)
    }

    @Test func changedConfigurationEndsEveryPause() {
        var retries = OpenRetries()
        for project in ["a", "b"] { _ = retries.failed(project, now: 0) }
        retries.reset()
        #expect(retries.admits("a", now: 0) && retries.admits("b", now: 0))
    }
}
