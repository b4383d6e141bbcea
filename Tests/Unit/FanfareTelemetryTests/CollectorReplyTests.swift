import FanfareModel
import Testing

@testable import FanfareTelemetry

@Suite struct CollectorReplyTests {
    private func reply(_ status: Int, body: String = "", retryAfter: String? = nil, isComplete: Bool = true)
        -> CollectorReply
    {
        let answer = HTTPAnswer(status: status, body: Array(body.utf8), isComplete: isComplete, retryAfter: retryAfter)
        return CollectorReply(.answered(answer), nowMs: 0)
    }

    @Test(arguments: [200, 202, 204]) func successIsAccepted(status: Int) {
        #expect(reply(status, body: "{}") == reply(status, body: "not JSON"))
        #expect(reply(status).answer == .accepted && reply(status).fault == nil)
    }

    @Test(arguments: [408, 429, 502, 503, 504]) func overloadIsRetried(status: Int) {
        #expect(reply(status).answer == .unavailable(retryAfterMs: nil))
        #expect(reply(status, retryAfter: "3").answer == .unavailable(retryAfterMs: 3_000))
        #expect(reply(status, retryAfter: "soon").answer == .unavailable(retryAfterMs: 60_000))
    }

    @Test(arguments: [301, 400, 401, 403, 404, 413, 415, 500, 501]) func anyOtherStatusIsRefused(status: Int) {
        #expect(reply(status, retryAfter: "3").answer == .refused && reply(status).fault == "status \(status)")
    }

    @Test func partialSuccessCountsWhatWasRejected() {
        for (body, count) in [
            (#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}"#, 3),
            (#"{"partialSuccess":{"rejectedDataPoints":4}}"#, 4),
            (#"{"partialSuccess":{"rejectedSpans":"-5","errorMessage":"odd"}}"#, 0),
            (#"{"partialSuccess":{"rejectedSpans":"99999999999999999999","errorMessage":"odd"}}"#, 0),
        ] {
            let reply = reply(200, body: body)
            #expect(reply.answer == .accepted && reply.rejected == count, "\(body)")
            #expect(reply.fault?.hasPrefix("\(count) rejected: ") == true, "\(body)")
        }
        #expect(reply(200, body: #"{"partialSuccess":{}}"#).fault == nil)
        #expect(reply(200, body: #"{"partialSuccess":{"rejectedSpans":"3"}}"#, isComplete: false).rejected == 0)
    }

    @Test func textOfTheCollectorIsCleanAndBoundedInTheLog() throws {
        let text = #"\u001b[2J\u0000\nx"# + String(repeating: "e\u{301}", count: 5_000)
        let body = #"{"partialSuccess":{"rejectedSpans":"1","errorMessage":"\#(text)"}}"#
        let fault = try #require(reply(200, body: body).fault)
        #expect(fault.hasPrefix("1 rejected: ?[2J??x") && fault.utf8.count <= 250)
        let lost = CollectorReply(.ambiguous(reason: "peer said \u{1b}[2J"), nowMs: 0)
        #expect(lost.fault == "peer said ?[2J")
    }

    @Test func requestWithoutAnAnswerIsRetried() {
        for outcome: RequestOutcome in [.unsent(reason: "r"), .refused(reason: "r"), .ambiguous(reason: "r")] {
            let reply = CollectorReply(outcome, nowMs: 0)
            #expect(reply.answer == .unavailable(retryAfterMs: nil) && reply.fault == "r")
        }
    }
}
