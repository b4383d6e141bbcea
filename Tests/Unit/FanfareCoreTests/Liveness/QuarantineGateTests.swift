import FanfareCore
import Testing

@Suite struct QuarantineGateTests {
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

    @Test func projectBeginsWhenAllOthersAreQuiet() {
        var gate = gate()
        #expect(gate.handle(.enter("a")) == nil)
        #expect(admitted(gate).isEmpty && gate.isAwaited, "nothing new begins")
        #expect(gate.handle(.quiet("b")) == nil)
        #expect(gate.handle(.quiet("c")) == "a")
        #expect(admitted(gate) == ["a"] && gate.holder == "a" && !gate.isAwaited)
    }

    @Test func onlyProjectBeginsAtOnce() {
        var gate = QuarantineGate(projects: ["a"])
        #expect(gate.handle(.enter("a")) == "a")
        #expect(gate.handle(.leave("a")) == nil && gate.admits("a"))
    }

    @Test func projectThatIsBusyAgainIsAwaited() {
        var gate = gate([.enter("a"), .quiet("b"), .busy("b")])
        #expect(gate.handle(.quiet("c")) == nil)
        #expect(gate.handle(.quiet("b")) == "a")
    }

    /// Redis gives out the next batch as soon as the last one is closed, before the holder has left.
    @Test func holderThatEntersAgainBeginsAtOnce() {
        var gate = gate([.enter("a"), .quiet("b"), .quiet("c")])
        #expect(gate.handle(.enter("a")) == "a")
        #expect(gate.handle(.leave("a")) == nil)
        #expect(admitted(gate) == ["a", "b", "c"])
    }

    @Test func waitingProjectsAreServedInTurn() {
        var gate = gate([.enter("a"), .quiet("b"), .quiet("c")])
        #expect(gate.handle(.enter("b")) == nil)
        #expect(gate.handle(.enter("c")) == nil)
        #expect(admitted(gate) == ["a"])
        #expect(gate.handle(.leave("a")) == nil, "what was reported before the last quarantine is out of date")
        #expect(admitted(gate).isEmpty)
        #expect(gate.handle(.quiet("a")) == nil)
        #expect(gate.handle(.quiet("c")) == "b")
    }

    @Test func projectThatLeavesWhileItWaitsOpensTheGate() {
        var gate = gate([.enter("a"), .quiet("b")])
        #expect(gate.handle(.leave("a")) == nil)
        #expect(admitted(gate) == ["a", "b", "c"] && !gate.isAwaited)
        #expect(gate.handle(.enter("c")) == nil)
        #expect(gate.handle(.quiet("a")) == nil, "the report of b is out of date")
        #expect(gate.handle(.quiet("b")) == "c")
    }

    @Test(arguments: [.leave("b"), .quiet("b"), .busy("b")] as [QuarantineGate.Event])
    func otherProjectsDoNotEndAQuarantine(_ event: QuarantineGate.Event) {
        var gate = gate([.enter("a"), .quiet("b"), .quiet("c")])
        #expect(gate.handle(event) == nil && gate.holder == "a")
    }

    @Test func removedProjectIsNoLongerAwaited() {
        var gate = QuarantineGate(projects: ["a", "b"])
        #expect(gate.handle(.enter("a")) == nil)
        var next = gate.remove("b")
        #expect(next == "a", "no other project is left to wait for")
        #expect(gate.holder == "a")
        gate.add("c")
        #expect(gate.handle(.enter("c")) == nil)
        next = gate.remove("a")
        #expect(next == "c", "the holder was removed")
        #expect(gate.holder == "c")
    }

    @Test func addedProjectIsAwaited() {
        var gate = QuarantineGate(projects: ["a"])
        gate.add("b")
        #expect(gate.handle(.enter("a")) == nil)
        #expect(gate.handle(.quiet("b")) == "a")
    }
}
