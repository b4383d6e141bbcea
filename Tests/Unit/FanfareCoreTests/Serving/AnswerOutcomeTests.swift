import FanfareCore
import FanfareModel
import Testing

@Suite struct AnswerOutcomeTests {
    private static func outcome(_ answer: ServedAnswer) -> AnswerOutcome {
        func header(_ name: String) -> String? { answer.headers.first { $0.name == name }?.value }
        return AnswerOutcome(
            status: answer.status,
            isOfJob: header("X-Fanfare-Job") != nil,
            fanfareStatus: header("X-Fanfare-Status"),
            body: answer.body
        )
    }

    private static func result(_ status: ResultStatus) -> ServedAnswer {
        var result = ServedResult(status: status, kind: .token, recipient: "a")
        result.messageID = "projects/p/messages/1"
        return V1Answer.result(result, project: "p", job: "j")
    }

    @Test func answersOfJobsAreToldApart() {
        #expect(Self.outcome(Self.result(.sent)) == .inTime)
        #expect(Self.outcome(Self.result(.failed)) == .inTime, "an error of FCM is a result")
        #expect(Self.outcome(Self.result(.expired)) == .inTime)
        #expect(Self.outcome(Self.result(.unknown)) == .unknown)
        #expect(Self.outcome(V1Answer.deferred(project: "p", job: "j")) == .deferred)
        #expect(Self.outcome(V1Answer.rejected("message: rule", job: "j")) == .inTime)
    }

    @Test(arguments: [
        (GatewayError.noKey, AnswerOutcome.Reason.key), (.wrongKey, .key), (.expiredToken, .key),
        (.manyWrongKeys(retryAfterMs: 1), .rate), (.rate(retryAfterMs: 1), .rate), (.project("p"), .permission),
        (.right("push"), .permission), (.route, .permission), (.method(allowed: "POST"), .request),
        (.tooLarge(maximumBytes: 1), .request), (.mediaType, .request),
        (.unavailable("Redis is away.", retryAfterMs: 1), .unavailable),
    ])
    func refusalsHaveTheirReason(error: GatewayError, reason: AnswerOutcome.Reason) {
        #expect(Self.outcome(error.v1Answer) == .refused(reason))
    }

    @Test func ownAnswersAreNoSends() {
        #expect(AnswerOutcome(status: 200, isOfJob: false, fanfareStatus: nil, body: []) == .other)
        #expect(AnswerOutcome(status: 404, isOfJob: false, fanfareStatus: nil, body: []) == .refused(.notFound))
        #expect(AnswerOutcome(status: 422, isOfJob: false, fanfareStatus: nil, body: []) == .refused(.request))
    }

    @Test func pushedJobOfTheOwnAPIIsDeferred() {
        #expect(AnswerOutcome(status: 202, isOfJob: true, fanfareStatus: nil, body: []) == .pushed)
        #expect(AnswerOutcome(status: 200, isOfJob: true, fanfareStatus: nil, body: []) == .inTime)
        #expect(AnswerOutcome(status: 504, isOfJob: true, fanfareStatus: "unknown", body: []) == .unknown)
    }

    @Test(arguments: ["", "fanfar", "fanfare", "{\"fanfare\":1}", "fanfanfare", "xfanfare-"])
    func bodiesWithoutAJobsIDAreInTime(body: String) {
        let outcome = AnswerOutcome(status: 200, isOfJob: true, fanfareStatus: nil, body: Array(body.utf8))
        #expect(outcome == .inTime)
    }

    @Test func nameMayStandAtEitherEnd() {
        for body in ["fanfare:", "fanfanfare:", "xfanfare:"] {
            let outcome = AnswerOutcome(status: 200, isOfJob: true, fanfareStatus: nil, body: Array(body.utf8))
            #expect(outcome == .deferred, "\(body)")
        }
    }
}
