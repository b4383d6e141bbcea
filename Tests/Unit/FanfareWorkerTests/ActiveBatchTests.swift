import FanfareCore
import FanfareModel
import StreamWire
import Testing

@testable import FanfareWorker

@Suite struct ActiveBatchTests {
    private func batch(_ pass: Claim.Pass) -> ActiveBatch {
        let job = Job(id: "j", hasOwnID: true, entryID: "1-0", target: .tokens(["a", "b"]), message: Array("{}".utf8))
        var claim = Claim(job: "j", epoch: "7", upto: 2, taken: ["a", "b"])
        claim.pass = pass
        claim.batch = pass == .retry ? "r7" : "0"
        let context = JobContext(id: "j", spec: JobSpec(job: job, total: 2), project: .init(id: "p"))
        return ActiveBatch(claim: claim, job: context)
    }

    /// A retry that Redis does not know was forgotten by it, unless the call that closes it is on its way.
    @Test func aRetryWhoseLastAnswerIsMissingMayBeClosed() {
        let batch = batch(.retry)
        batch.unanswered = 1
        #expect(batch.close(0) && !batch.mayBeClosed, "one is still open")
        batch.unanswered = 0
        #expect(batch.close(1) && !batch.mayBeClosed, "nothing was sent that could close it")
        batch.unanswered = 1
        #expect(batch.mayBeClosed)
        batch.unanswered = 0
        batch.isClosed = true
        #expect(batch.mayBeClosed)
    }

    /// Of these Redis tells apart by the job's progress which it has closed, and names only the others.
    @Test func aFirstPassIsNamedOnlyWhenItWasForgotten() {
        let batch = batch(.first)
        #expect(batch.close(0) && batch.close(1))
        batch.unanswered = 1
        #expect(!batch.mayBeClosed)
    }

    /// Until it is handed on it is open: what closes a batch goes out when nothing is.
    @Test func whatWasSentIsOpenUntilItIsReported() throws {
        let batch = batch(.first)
        let result = try #require(batch.closeSent(1, messageID: "m", startedMs: 40))
        #expect(result == PlainResult(index: 1, kind: .token, recipient: "b", messageID: "m", attempts: 1))
        #expect(batch.open == 2 && batch.recipients[1].history.firstAttemptMs == 40)
        #expect(batch.closeSent(1, messageID: "m", startedMs: 50) == nil, "once")
        #expect(!batch.close(1))
        batch.reported(1)
        #expect(batch.open == 1)
    }

    /// A recipient in doubt has more to say than a message's id, and keeps its history for whoever says it.
    @Test func whatMayHaveArrivedTwiceIsNoPlainResult() {
        let batch = batch(.retry)
        batch.recipients[0].history = RecipientHistory(attempts: 1, firstAttemptMs: 5, maybeDuplicate: true)
        #expect(batch.closeSent(0, messageID: "m", startedMs: 40) == nil)
        #expect(batch.recipients[0].history.attempts == 1 && batch.recipients[0].fate == .unsent)
    }

    /// Together as one by one: the usual ones are closed, whoever has more to say is left as it is.
    @Test func manyAreClosedAsEachWouldBe() {
        let tokens = ["a", "b", "c", "b", "d", "e"]
        let job = Job(id: "j", hasOwnID: true, entryID: "1-0", target: .tokens(tokens), message: Array("{}".utf8))
        let claim = Claim(job: "j", epoch: "7", upto: 6, taken: RecipientList(tokens))
        let context = JobContext(id: "j", spec: JobSpec(job: job, total: 6), project: .init(id: "p"))
        let batch = ActiveBatch(claim: claim, job: context)
        batch.recipients[4].history = RecipientHistory(attempts: 1, firstAttemptMs: 5, maybeDuplicate: true)
        batch.recipients[5].history = RecipientHistory(attempts: 2, firstAttemptMs: 5)
        // b stands for two, c has a new token, d may have got it before.
        let verdicts: [Verdict] = [
            .sent(messageID: "m0", canonical: nil), .sent(messageID: "m1", canonical: nil),
            .sent(messageID: "m2", canonical: "new"), .sent(messageID: "m4", canonical: nil),
            .sent(messageID: "m5", canonical: nil), .failed(Failure(error: .unregistered, action: .remove)),
        ]
        let positions = OneOrMore(0, [1, 2, 4, 5, 3])
        let (closed, others) = batch.closeSent(AnswerVerdicts(verdicts), of: positions, startedMs: 40)
        #expect(closed == [0, 4] && others == [1, 2, 3, 5])
        var pending = FlushBuffer()
        let flight = Flight(batch: batch, positions: positions, member: nil)
        pending.append(closed[...], of: flight, AnswerVerdicts(verdicts), expected: 2)
        var expected = FlushBuffer()
        for result in [
            PlainResult(index: 0, kind: .token, recipient: "a", messageID: "m0", attempts: 1),
            PlainResult(index: 5, kind: .token, recipient: "e", messageID: "m5", attempts: 3),
        ] {
            expected.append(result, policy: .all, expected: 2)
        }
        #expect(pending.results == expected.results, "as each would be written by itself")
        #expect(batch.recipients.map { $0.fate == .finished } == [true, false, false, false, false, true])
        #expect(batch.recipients[0].history.firstAttemptMs == 40 && batch.recipients[5].history.firstAttemptMs == 5)
        #expect(batch.open == 6, "until they are reported")
        let again = batch.closeSent(AnswerVerdicts([verdicts[0], verdicts[1]]), of: OneOrMore(0, [1]), startedMs: 50)
        #expect(again.closed.isEmpty && again.others == [0, 1], "once")
    }
}
