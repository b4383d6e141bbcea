import Testing

@testable import FanfareCore

/// What a request with earlier equal ones does, event by event, in virtual time.
@Suite struct EqualRequestTests {
    private static let place = DuplicateRule.Place(job: "gw-1", indices: 3..<4)
    private static let own = RequestName(gateway: "own", number: 9)
    private static let patienceMs: UInt64 = 2_500

    private static func entry(_ gateway: String, _ record: DuplicateRule.Record) -> DuplicateRule.Entry {
        DuplicateRule.Entry(RequestName(gateway: gateway, number: 7), record)
    }

    private static let left = entry("b", .left(place))
    private static let open = entry("b", .open(place))

    private func rule(waitMs: UInt64 = 4_000) -> EqualRequest {
        EqualRequest(Self.own, recipients: 1, deadlineNs: waitMs * 1_000_000, nowNs: 0)
    }

    private func records(_ entries: [DuplicateRule.Entry]) -> EqualRequest.Event {
        .records(entries, living: ["own", "b"])
    }

    private func ms(_ ms: UInt64) -> UInt64 { ms * 1_000_000 }

    @Test func requestWithoutEarlierOnesIsSent() {
        var rule = rule()
        #expect(rule.handle(records([]), nowNs: 0) == .send(isPatient: true))
    }

    @Test func answerThatClientsRepeatIsGivenAgain() {
        var rule = rule()
        let answer = ServedAnswer(status: 503, type: nil)
        #expect(rule.handle(records([Self.entry("b", .answered(answer))]), nowNs: 0) == .answer(answer))
    }

    @Test func placeOfTheEarlierRequestIsTakenOver() {
        var rule = rule()
        #expect(rule.handle(records([Self.left]), nowNs: 0) == .takeOver(Self.left, Self.place))
        #expect(rule.handle(.took(true), nowNs: 0) == .wait(Self.place))
    }

    @Test func placeThatAnotherRequestTookIsLookedAtAgain() {
        var rule = rule()
        _ = rule.handle(records([Self.left]), nowNs: 0)
        #expect(rule.handle(.took(false), nowNs: 0) == .look(afterMs: 0))
        #expect(rule.handle(records([]), nowNs: 0) == .send(isPatient: true))
    }

    @Test func takeOverWhoseReplyWasLostIsFoundInRedis() {
        var rule = rule()
        _ = rule.handle(records([Self.left]), nowNs: 0)
        #expect(rule.handle(.failed, nowNs: 0) == .look(afterMs: 200))
        let taken = DuplicateRule.Entry(Self.own, .open(Self.place))
        #expect(rule.handle(records([taken]), nowNs: 0) == .wait(Self.place))
    }

    @Test func recordOfAnotherFormIsRemoved() {
        var rule = EqualRequest(Self.own, recipients: 2, deadlineNs: 0, nowNs: 0)
        #expect(rule.handle(records([Self.left]), nowNs: 0) == .remove(Self.left))
    }

    @Test func openRequestOfALivingGatewayIsAwaitedForAWhile() {
        var rule = rule()
        #expect(rule.handle(records([Self.open]), nowNs: ms(2_499)) == .look(afterMs: 50))
        #expect(rule.handle(records([Self.open]), nowNs: ms(Self.patienceMs)) == .send(isPatient: false))
    }

    /// A request that waits for less than the patience was ended with 503 in place of being sent.
    @Test func shortWaitDoesNotEndThePatience() {
        var rule = rule(waitMs: 100)
        #expect(rule.handle(records([Self.open]), nowNs: ms(1_000)) == .look(afterMs: 50))
        #expect(rule.handle(records([Self.open]), nowNs: ms(2_600)) == .send(isPatient: false))
    }

    @Test func redisThatDoesNotAnswerEndsTheRequestAtItsDeadline() {
        for event in [.failed, .changing] as [EqualRequest.Event] {
            var early = rule(waitMs: 100)
            #expect(early.handle(event, nowNs: ms(2_499)) == .look(afterMs: event.pauseMs))
            #expect(early.handle(event, nowNs: ms(2_500)) == .end(nil))
            var late = rule(waitMs: 4_000)
            #expect(late.handle(event, nowNs: ms(3_999)) == .look(afterMs: event.pauseMs))
            #expect(late.handle(event, nowNs: ms(4_000)) == .end(nil))
        }
    }

    @Test func endAfterATakeOverInDoubtNamesItsPlace() {
        var rule = rule()
        _ = rule.handle(records([Self.left]), nowNs: 0)
        _ = rule.handle(.failed, nowNs: 0)
        #expect(rule.handle(.failed, nowNs: ms(4_000)) == .end(Self.place))
    }

    @Test func requestWhoseClientLeftSendsNothing() {
        let rule = rule()
        for action in [.look(afterMs: 50), .send(isPatient: true), .end(nil)] as [EqualRequest.Action] {
            #expect(rule.left(after: action) == .forget)
        }
    }

    @Test func placeThatIsTakenOverIsKeptWhenTheClientLeaves() {
        var rule = rule()
        let takeOver = rule.handle(records([Self.left]), nowNs: 0)
        // Nothing is done yet.
        #expect(rule.left(after: takeOver) == .forget)
        let rows: [(EqualRequest.Event, EqualRequest.Action)] = [
            (.took(true), .wait(Self.place)), (.failed, .wait(Self.place)), (.took(false), .forget),
        ]
        for (event, expected) in rows {
            let action = rule.handle(event, nowNs: 0)
            #expect(rule.left(after: action) == expected)
        }
    }
}

extension EqualRequest.Event {
    fileprivate var pauseMs: Int64 { if case .failed = self { 200 } else { 50 } }
}
