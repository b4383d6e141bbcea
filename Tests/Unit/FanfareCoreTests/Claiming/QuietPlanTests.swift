import Testing

@testable import FanfareCore

/// What a worker counts while its projects are quiet, and when it claims.
@Suite struct QuietPlanTests {
    private struct Rig {
        var plan: QuietPlan
        var actions: [QuietPlan.Action] = []

        /// Entries are counted at each fourth event.
        init(leaseMs: Int64 = 1_600) { plan = QuietPlan(leaseMs: leaseMs, everyMs: 200) }

        mutating func after(_ event: QuietPlan.Event) -> [QuietPlan.Action] {
            actions = []
            plan.handle(event, into: &actions)
            return actions
        }
    }

    private static let names = (0..<32).map { "p\($0)" }

    @Test func projectsAreCountedInGroups() {
        var rig = Rig()
        #expect(rig.after(.due(quiet: Array(Self.names[..<32]))) == [.count(.keys, Array(Self.names[..<32]))])
        _ = rig.after(.disconnected)
        #expect(rig.after(.due(quiet: [])).isEmpty)
    }

    /// Each is counted within a second.
    @Test(arguments: [33, 70, 1_000]) func manyProjectsAreCountedInSeveralTurns(_ number: Int) {
        var rig = Rig(leaseMs: 100_000)
        let names = (0..<number).map { "p\($0)" }
        var counted: [String] = []
        for _ in 0..<min(QuietPlan.maximumParts, (number + 31) / 32) {
            for case .count(.keys, let group) in rig.after(.due(quiet: names)) {
                #expect(group.count <= QuietPlan.groupSize)
                counted += group
            }
            _ = rig.after(.disconnected)
        }
        #expect(counted.sorted() == names.sorted())
    }

    @Test func groupWithAKeyIsCountedProjectByProject() {
        var rig = Rig()
        _ = rig.after(.due(quiet: ["a", "b"]))
        #expect(rig.after(.counted(.keys, ["a", "b"], count: 1)) == [.count(.keys, ["a"]), .count(.keys, ["b"])])
        #expect(rig.after(.counted(.keys, ["a"], count: 0)).isEmpty)
        #expect(rig.after(.counted(.keys, ["b"], count: 2)) == [.claim("b")])
    }

    /// Redis is slow: more commands would not make it faster.
    @Test func nothingIsCountedWhileAnAnswerIsMissing() {
        var rig = Rig()
        _ = rig.after(.due(quiet: ["a", "b"]))
        #expect(rig.after(.due(quiet: ["a", "b"])).isEmpty)
        _ = rig.after(.counted(.keys, ["a", "b"], count: 1))
        _ = rig.after(.counted(.keys, ["a"], count: 0))
        #expect(rig.after(.due(quiet: ["a", "b"])).isEmpty, "the other project has no answer yet")
        _ = rig.after(.counted(.keys, ["b"], count: 0))
        #expect(rig.after(.due(quiet: ["a", "b"])) == [.count(.keys, ["a", "b"])])
    }

    @Test func lostConnectionLosesItsAnswers() {
        var rig = Rig()
        _ = rig.after(.due(quiet: ["a"]))
        #expect(rig.after(.disconnected).isEmpty)
        #expect(rig.after(.due(quiet: ["a"])) == [.count(.keys, ["a"])])
    }

    @Test func entriesAreCountedOnceInHalfALease() {
        var rig = Rig()
        var counted: [[QuietPlan.Action]] = []
        for _ in 0..<8 {
            counted.append(rig.after(.due(quiet: ["a", "b"])).filter { $0 != .count(.keys, ["a", "b"]) })
            _ = rig.after(.disconnected)
        }
        let entries: [QuietPlan.Action] = [.count(.entries, ["a"]), .count(.entries, ["b"]), .claim("a")]
        #expect(counted == [[], [], [], entries, [], [], [], entries])
        #expect(rig.after(.counted(.entries, ["b"], count: 1)) == [.claim("b")])
    }

    /// A user without the right to count is served as before.
    @Test func projectsThatCannotBeCountedAreClaimedFor() {
        var rig = Rig()
        _ = rig.after(.due(quiet: ["a", "b"]))
        #expect(rig.after(.counted(.keys, ["a", "b"], count: nil)) == [.claim("a"), .claim("b")])
    }
}
