import FCMWire
import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// What flushes report of first attempts, and what the machine does once Redis has paused the job for its message.
@Suite struct SendMachineMessageTests {
    private static let fanout = JobSpec.message(total: 2_000)

    private func rig(_ claim: Claim, _ spec: JobSpec = fanout) -> MachineRig {
        var rig = MachineRig()
        rig.hold(claim, spec)
        rig.send()
        return rig
    }

    /// The answers and refusals of every flush.
    private func report(_ rig: inout MachineRig) -> (answers: Int, refusals: String, details: [String]) {
        rig.flushNow()
        let calls = rig.flushes.map(\.call)
        let refusals = calls.flatMap { call in
            call.refusals + Array(repeating: UInt8(ascii: "0"), count: call.answers - call.refusals.count)
        }
        return (
            calls.reduce(0) { $0 + $1.answers }, String(decoding: refusals, as: UTF8.self),
            calls.map(\.refusedDetail).filter { !$0.isEmpty }
        )
    }

    @Test func refusalsOfTheMessageAreReportedInTheirOrder() {
        var rig = rig(.of(count: 5))
        for outcome: RequestOutcome in [.sent(), .wrongMessage, .dead, .wrongMessage, .unanswered] {
            rig.answer(outcome)
        }
        let report = report(&rig)
        #expect(report.answers == 5 && report.refusals == "01010")
    }

    @Test func refusedMulticastIsOneAttempt() {
        var settings = SendMachine.Settings()
        settings.protocols.transport = .legacy
        var rig = MachineRig(settings)
        rig.hold(.of(count: 5, watermark: 5), .message(total: 2_000) { $0.format = .legacy })
        rig.send()
        #expect(rig.positions.map(\.count) == [5])
        let body = Array(#"{"error":"InvalidParameters"}"#.utf8)
        rig.answer(.answered(HTTPAnswer(status: 400, body: body, contentType: "application/json")))
        let report = report(&rig)
        #expect(report.answers == 1 && report.refusals == "1")
    }

    @Test(arguments: [
        ("INVALID_ARGUMENT: message.android.ttl", "message.android.ttl"), ("INVALID_ARGUMENT", ""), ("", ""),
        ("INVALID_ARGUMENT: a: b", "a: b"),
    ])
    func detailBehindTheCodeIsNamed(raw: String, detail: String) {
        func verdict(_ action: RemedyAction, _ error: ErrorCode = .invalidArgument) -> Verdict {
            .failed(Failure(error: error, action: action, rawError: raw, httpStatus: 400))
        }
        #expect(verdict(.fixMessage).refusalOfMessage == detail)
        // A token that FCM does not know, and an answer that is not FCM's.
        #expect(verdict(.remove).refusalOfMessage == nil && verdict(.none, .unspecified).refusalOfMessage == nil)
    }

    @Test func equalRecipientsAreOneAttempt() {
        var rig = rig(.named(["a", "a", "b", "a"]))
        rig.answer(.wrongMessage)
        rig.answer(.sent())
        let report = report(&rig)
        #expect(report.answers == 2 && report.refusals == "10")
    }

    @Test func onlyFirstAttemptsCount() {
        let claim = Claim.of(count: 3) {
            $0.pass = .retry
            $0.recipients[1].history = RecipientHistory(attempts: 1, firstAttemptMs: 1)
        }
        var rig = rig(claim)
        for _ in 0..<3 { rig.answer(.wrongMessage) }
        // Recipients that were given back before their first attempt come in a retry batch.
        #expect(report(&rig).refusals == "11")
    }

    @Test func requestsThatNeverLeftAreNoAttempts() {
        var rig = rig(.of(count: 1))
        rig.answer(.refusedToken)
        rig.machine.gate.resources.credentialGeneration = 1
        rig.send()
        rig.answer(.refusedToken)
        #expect(report(&rig).answers == 0)
    }

    @Test(arguments: [JobSpec.message(total: 1_000), .operation(total: 2_000)])
    func otherJobsReportNothing(spec: JobSpec) {
        var rig = rig(.of(count: 2), spec)
        rig.handle(.managementGranted(2))
        rig.send()
        rig.answer(.wrongMessage)
        #expect(report(&rig).answers == 0)
    }

    // MARK: Pauses

    private static func paused(_ watermark: Int) -> RecordReply {
        var reply = GuardedReply()
        (reply.watermark, reply.waitMs, reply.paused, reply.reason) = (watermark, 1_000, .message, "message refused")
        return .ok(guarded: reply)
    }

    @Test func pauseIsCountedAndLogged() throws {
        var rig = rig(.of(count: 20, watermark: 2))
        rig.confirm(try #require(rig.flushes.firstIndex { $0.call.watermark != nil }), Self.paused(2))
        #expect(rig.meters.contains(.paused(.message)))
        #expect(rig.logs.contains { $0.contains("FCM refuses its message") })
    }

    /// Otherwise it would ask with each turn until the stop arrives.
    @Test func batchWhoseWatermarkWasHeldBackAsksAgainAfterTheWait() throws {
        var rig = rig(.of(count: 20, watermark: 2))
        rig.confirm(try #require(rig.flushes.firstIndex { $0.call.watermark != nil }), Self.paused(2))
        func asks() -> Bool { rig.flushes.contains { $0.call.watermark != nil } }
        rig.send()
        #expect(!asks() && rig.requests.count == 2)
        rig.advance(milliseconds: 1_000)
        rig.send()
        #expect(asks())
    }

    @Test func parkedJobIsLogged() {
        var rig = MachineRig()
        let news = News.parked(job: "j", reason: "audience: its length changed")
        rig.handle(.claimReplied(.empty { $0.news = [news] }, askedNs: 0))
        #expect(rig.logs.contains { $0.contains("A job is parked") })
    }

    // MARK: Results without an attempt

    @Test func resultsWithoutAnAttemptAreCounted() {
        var rig = rig(.named(["not a token", "t1", "not a token"]))
        rig.answer(.sent())
        rig.flushNow()
        #expect(rig.flushes.reduce(0) { $0 + $1.call.untried } == 2)
    }

    /// One of two equal recipients ended in doubt and its message's lifetime is over; the other was never sent to.
    @Test func equalRecipientsAreEndedByTheirOwnHistories() {
        let claim = Claim.named(["a", "a", "a"]) {
            $0.pass = .retry
            let long = RecipientHistory(attempts: 1, firstAttemptMs: 1_000, maybeDuplicate: true)
            ($0.recipients[0].history, $0.recipients[2].history) = (long, long)
        }
        var rig = rig(claim, .message(total: 2_000, ttl: "60s"))
        rig.flushNow()
        #expect(rig.requests.isEmpty && rig.flushes.map(\.call.letters) == [[0: "u", 2: "u"]])
        #expect(rig.flushes.flatMap(\.call.retries).map(\.packed) == ["0|0|0|a"])
    }

    // MARK: Jobs of one id

    /// The last flush of an earlier job is not confirmed yet when the next job of its id comes.
    @Test(arguments: [true, false]) func laterJobOfAnIdHasItsOwnMessageAndGoesOn(isTaken: Bool) throws {
        var rig = MachineRig()
        rig.hold(.of(count: 1, watermark: 0), .message())
        rig.handle(.claimReplied(.empty { $0.news = [.end(job: "j", status: "cancelled")] }, askedNs: 0))
        rig.flushNow()
        #expect(rig.flushes.map(\.call.letters) == [[0: "c"]])
        let claim = Claim.of(epoch: 9) { $0.born = isTaken ? "" : "8" }
        let spec = JobSpec.message(to: .tokens(["t0"])) { $0.message = Array(#"{"data":{"new":"1"}}"#.utf8) }
        rig.lend(10)
        if isTaken {
            rig.handle(.batchTaken(claim, SendJob(id: "j", spec: spec, settings: .init())))
        } else {
            rig.hold(claim, spec)
        }
        rig.send()
        #expect(rig.requests.map { String(decoding: $0.request.body, as: UTF8.self).contains("new") } == [true])
        rig.confirm(0, .gone)
        rig.answer(.sent())
        #expect(rig.confirm().call.letters == [0: "s"])
        rig.expectEmpty()
    }
}
