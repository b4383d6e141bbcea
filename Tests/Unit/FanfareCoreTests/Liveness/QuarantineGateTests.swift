import FanfareCore
import StreamWire
import Testing

@Suite struct QuarantineGateTests {
    typealias Stay = QuarantineGate.Stay

    private func gate(_ events: [QuarantineGate.Event] = []) -> QuarantineGate {
        var gate = QuarantineGate(projects: ["a", "b", "c"])
        for event in events { _ = gate.handle(event) }
        return gate
    }

    private func admitted(_ gate: QuarantineGate) -> [String] { ["a", "b", "c"].filter(gate.admits) }

    @Test func openGateAdmitsAllProjects() {
        let gate = gate()
        #expect(admitted(gate) == ["a", "b", "c"] && gate.holder == nil && !gate.isAwaited)
    }

    // MARK: Shared

    @Test func sharedQuarantineBeginsAtOnceAndStopsNoProject() {
        var gate = gate()
        #expect(gate.handle(.enter("a", .shared)) == Stay("a", .shared))
        #expect(admitted(gate) == ["a", "b", "c"] && !gate.isAwaited && !gate.isExclusive)
    }

    @Test func oneProjectAtATimeRunsAQuarantinedBatch() {
        var gate = gate([.enter("a", .shared)])
        #expect(gate.handle(.enter("b", .shared)) == nil)
        #expect(gate.handle(.enter("c", .exclusive)) == nil)
        #expect(admitted(gate) == ["a", "b", "c"] && !gate.isAwaited, "others continue while the first is shared")
        #expect(gate.handle(.leave("a")) == Stay("b", .shared))
        #expect(gate.handle(.leave("b")) == nil && admitted(gate).isEmpty && gate.isAwaited)
    }

    /// Nothing else of the process is in flight in either mode, so a death is the batch's.
    @Test(arguments: [QuarantineMode.shared, .exclusive]) func onlyProjectIsAloneAtOnce(_ mode: QuarantineMode) {
        var gate = QuarantineGate(projects: ["a"])
        #expect(gate.handle(.enter("a", mode)) == Stay("a", .exclusive))
        gate.add("b")
        #expect(!gate.admits("b"), "a project that is added waits for it")
        #expect(gate.handle(.leave("a")) == nil && gate.admits("a") && gate.admits("b"))
    }

    // MARK: Exclusive

    @Test func projectBeginsWhenAllOthersAreQuiet() {
        var gate = gate()
        #expect(gate.handle(.enter("a", .exclusive)) == nil)
        #expect(admitted(gate).isEmpty && gate.isAwaited, "nothing new begins")
        #expect(gate.handle(.quiet("b")) == nil)
        #expect(gate.handle(.quiet("c")) == Stay("a", .exclusive))
        #expect(admitted(gate) == ["a"] && gate.isExclusive && !gate.isAwaited)
    }

    @Test func projectThatIsBusyAgainIsAwaited() {
        var gate = gate([.enter("a", .exclusive), .quiet("b"), .busy("b")])
        #expect(gate.handle(.quiet("c")) == nil)
        #expect(gate.handle(.quiet("b")) == Stay("a", .exclusive))
    }

    @Test func waitingProjectThatNeedsAnotherModeKeepsItsTurn() {
        var gate = gate([.enter("a", .shared), .enter("b", .shared), .enter("c", .shared)])
        #expect(gate.handle(.enter("b", .exclusive)) == nil)
        #expect(gate.handle(.leave("a")) == nil)
        #expect(gate.handle(.quiet("a")) == nil)
        #expect(gate.handle(.quiet("c")) == Stay("b", .exclusive))
    }

    /// Redis gives out the next batch as soon as the last one is closed, before the holder has left.
    @Test func holderThatEntersAgainBeginsAtOnce() {
        var gate = gate([.enter("a", .exclusive), .quiet("b"), .quiet("c")])
        #expect(gate.handle(.enter("a", .exclusive)) == Stay("a", .exclusive))
        #expect(gate.handle(.leave("a")) == nil)
        #expect(admitted(gate) == ["a", "b", "c"])
    }

    @Test func waitingProjectsAreServedInTurn() {
        var gate = gate([.enter("a", .exclusive), .quiet("b"), .quiet("c")])
        #expect(gate.handle(.enter("b", .exclusive)) == nil)
        #expect(gate.handle(.enter("c", .exclusive)) == nil)
        #expect(admitted(gate) == ["a"])
        #expect(gate.handle(.leave("a")) == nil, "what was reported before the last quarantine is out of date")
        #expect(admitted(gate).isEmpty)
        #expect(gate.handle(.quiet("a")) == nil)
        #expect(gate.handle(.quiet("c")) == Stay("b", .exclusive))
    }

    @Test func projectThatLeavesWhileItWaitsOpensTheGate() {
        var gate = gate([.enter("a", .exclusive), .quiet("b")])
        #expect(gate.handle(.leave("a")) == nil)
        #expect(admitted(gate) == ["a", "b", "c"] && !gate.isAwaited)
        #expect(gate.handle(.enter("c", .exclusive)) == nil)
        #expect(gate.handle(.quiet("a")) == nil, "the report of b is out of date")
        #expect(gate.handle(.quiet("b")) == Stay("c", .exclusive))
    }

    @Test(arguments: [.leave("b"), .quiet("b"), .busy("b")] as [QuarantineGate.Event])
    func otherProjectsDoNotEndAQuarantine(_ event: QuarantineGate.Event) {
        var gate = gate([.enter("a", .exclusive), .quiet("b"), .quiet("c")])
        #expect(gate.handle(event) == nil && gate.holder == Stay("a", .exclusive))
    }

    // MARK: Projects

    @Test func removedProjectIsNoLongerAwaited() {
        var gate = QuarantineGate(projects: ["a", "b"])
        #expect(gate.handle(.enter("a", .exclusive)) == nil)
        var next = gate.remove("b")
        #expect(next == Stay("a", .exclusive), "no other project is left to wait for")
        gate.add("c")
        #expect(gate.handle(.enter("c", .exclusive)) == nil)
        next = gate.remove("a")
        #expect(next == Stay("c", .exclusive), "the holder was removed")
    }

    @Test func addedProjectIsAwaited() {
        var gate = QuarantineGate(projects: ["a"])
        gate.add("b")
        #expect(gate.handle(.enter("a", .exclusive)) == nil)
        #expect(gate.handle(.quiet("b")) == Stay("a", .exclusive))
    }
}
