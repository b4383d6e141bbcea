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
}
