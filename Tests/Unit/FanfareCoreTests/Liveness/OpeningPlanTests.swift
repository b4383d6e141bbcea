import Testing

@testable import FanfareCore

/// The groups of projects that are opened together, and what the next one waits for.
@Suite struct OpeningPlanTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func groupsFollowEachOtherOnceTheyAreOpened() {
        var plan = OpeningPlan(hasResults: Array(repeating: false, count: 120))
        #expect(plan.next(now: Self.second) { _ in false }.elementsEqual(0..<50))
        #expect(plan.next(now: Self.second) { $0 != 49 }.isEmpty, "one of them is not opened")
        #expect(plan.next(now: Self.second) { $0 < 50 }.elementsEqual(50..<100))
        #expect(!plan.isDone)
        #expect(plan.next(now: Self.second) { _ in true }.elementsEqual(100..<120))
        #expect(plan.isDone && plan.next(now: Self.second) { _ in true }.isEmpty)
    }

    @Test func groupWaitsTwoSecondsForTheOneBefore() {
        var plan = OpeningPlan(hasResults: Array(repeating: false, count: 60))
        _ = plan.next(now: Self.second) { _ in false }
        #expect(plan.next(now: 3 * Self.second - 1) { _ in false }.isEmpty)
        #expect(plan.next(now: 3 * Self.second) { _ in false }.elementsEqual(50..<60))
    }

    @Test func projectsWithResultsComeFirst() {
        var plan = OpeningPlan(hasResults: (0..<140).map { $0 % 2 == 1 })
        #expect(Array(plan.next(now: 0) { _ in false }) == (0..<70).map { 2 * $0 + 1 })
        #expect(plan.next(now: 0) { _ in true }.first == 0)
    }

    @Test func planWithoutProjectsIsDone() { #expect(OpeningPlan(hasResults: []).isDone) }
}
