import FanfareCore
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// The hand-over of each entry, and what becomes of each answer.
@Suite struct IntakeTests {
    private let bench: DriverBench
    private var intake: Intake { bench.intake }
    private let calls = Calls()

    private final class Calls { var handedOver = 0 }

    init() throws {
        bench = try DriverBench()
        bench.context.redis.onRefused = { _ in }
        intake.onHandedOver = { [calls] in calls.handedOver += 1 }
    }

    private static let message = #"{"notification":{"title":"t"}}"#

    private func receive(_ ids: [String], fields: [String] = ["token", "t", "message", IntakeTests.message]) throws {
        let flat = RedisValue.array(fields.map { .text($0) })
        intake.receive(try ids.map { try #require(StreamEntry(.array([.text($0), flat]))) })
        bench.loop.advance()
    }

    private static func taken(epoch: String = "3") -> RedisValue {
        .pairs(["outcome": .text("taken"), "epoch": .text(epoch), "permits": .integer(0)])
    }

    // MARK: Hand-over

    @Test func entriesOfATurnAreHandedOverTogether() throws {
        try receive(["1-0"])
        #expect(bench.sent() == ["intake"])
        try receive(["2-0", "3-0"])
        #expect(bench.sent() == ["intakes"])
        #expect(!intake.isIdle && calls.handedOver == 0)
        bench.redis.answer(.text("duplicate"))
        #expect(calls.handedOver == 1)
        bench.redis.answer(.array([.text("duplicate"), .text("gone")]))
        #expect(intake.isIdle && calls.handedOver == 3)
        #expect(bench.sent() == [], "neither outcome leads to a claim")
    }

    /// The worker offers itself only while it could send.
    @Test(arguments: [true, false]) func jobIsOfferedToThisWorkerWithItsLease(_ holds: Bool) throws {
        if !holds { bench.leases.hold("p", until: 0) }
        try receive(["1-0"])
        #expect(bench.redis.waiting[0].words.contains(DriverBench.name) == holds)
    }

    @Test func queuedJobIsClaimedAtOnce() throws {
        try receive(["1-0"])
        bench.redis.answer(.text("queued"))
        #expect(bench.sent() == ["intake", "claim"])
    }

    @Test func takenJobIsThisWorkersBatch() throws {
        try receive(["1-0"])
        bench.redis.answer(Self.taken())
        #expect(bench.context.machine.known.map(\.name) == ["1-0/0"])
        #expect(intake.isIdle)
    }

    /// Its batch is another worker's by now.
    @Test func jobTakenUnderADeadNameIsNotSent() throws {
        try receive(["1-0"])
        bench.leases.lost("p")
        bench.redis.answer(Self.taken())
        #expect(bench.context.machine.isEmpty)
        #expect(intake.isIdle)
    }

    @Test func unreadableAnswerIsLogged() throws {
        try receive(["1-0"])
        bench.redis.answer(.text("unheard of"))
        #expect(bench.heard.messages.count == 1)
        #expect(intake.isIdle)
    }

    // MARK: Demand

    @Test(arguments: ["comparison", "drain", "pressure"]) func nothingIsReadWith(_ condition: String) {
        #expect(intake.demand.room == 256)
        switch condition {
        case "comparison": bench.context.isReady = false
        case "drain": bench.runner.drain()
        default: bench.context.machine.gate.pressure = "memory"
        }
        #expect(intake.demand.room == 0)
    }

    // MARK: Failures

    /// The entry stays pending in Redis: it is read again, and new entries wait for that.
    @Test func failedHandOverLeavesTheEntryForTheNextRead() throws {
        try receive(["1-0"])
        bench.redis.refuse("OOM full")
        #expect(intake.isIdle && calls.handedOver == 1)
        #expect(intake.demand.room == 0 && intake.demand.leftovers == .later)
        bench.loop.advance(milliseconds: 500)
        #expect(intake.demand.room == 256 && intake.demand.leftovers == .later)
        bench.loop.advance(milliseconds: 500)
        #expect(intake.hasLeftovers && intake.demand.leftovers == .readable)
        intake.leftoversReread()
        #expect(!intake.hasLeftovers)
        #expect(bench.heard.messages == ["Entries cannot be handed over yet."])
    }

    @Test func entriesThatAreLostWithTheConnectionAreNotSentAgain() throws {
        try receive(["1-0", "2-0"])
        bench.redis.lose()
        bench.redis.becomeReady()
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.sent() == ["intakes"])
        #expect(intake.isIdle && intake.demand.leftovers == .readable)
    }

    /// The job that has the id is about to end: others are handed over meanwhile.
    @Test func entryWhoseIdIsInUseIsReadAgainWithoutAPause() throws {
        try receive(["1-0"])
        bench.redis.refuse("ENDING the job ends")
        #expect(intake.demand.room == 256 && intake.demand.leftovers == .later)
        #expect(bench.heard.messages == [])
    }

    // MARK: Fan-outs and windows

    @Test(arguments: [("none", true), ("counted", true), ("config", false)])
    func fanoutWhoseSizeIsAGuessIsLoggedOncePerTopic(_ source: String, _ isLogged: Bool) throws {
        for id in ["1-0", "2-0"] {
            try receive([id], fields: ["topic", "news", "message", Self.message])
            bench.redis.serve { sent in
                guard sent.name == "intake" else { return .status("OK") }
                return .pairs(["outcome": .text("queued"), "size": .integer(7), "source": .text(source)])
            }
        }
        let line: Logger.Metadata = ["topic": "news", "estimate": "7", "job": "1-0"]
        #expect(bench.heard.metadata == (isLogged ? [line] : []))
    }

    @Test func jobsWindowGoesToRedisWithItsTimes() throws {
        let window = "09:00-18:00 Europe/Madrid"
        try receive(["1-0"], fields: ["token", "t", "message", Self.message, "send_window", window])
        #expect(bench.redis.waiting.map(\.name) == ["intake"])
        #expect(bench.redis.waiting.first?.words.contains(window) == true)
    }

    @Test func windowThatThisWorkerCannotReadIsLogged() {
        intake.windowClosed("j", window: "09:00-18:00 Nowhere/Never")
        #expect(bench.sent() == [])
        #expect(bench.heard.lines.map(\.level) == [.error])
        #expect(bench.heard.metadata.first?["job"] == "j")
    }

    // MARK: Rejection

    @Test func entryWithoutRecipientsIsRejected() throws {
        try receive(["1-0"], fields: ["message", Self.message])
        #expect(bench.redis.waiting.map { Array($0.words[..<2]) } == [["reject", "1-0"]])
        #expect(!intake.isIdle)
        bench.redis.answer(.text("rejected"))
        #expect(intake.isIdle)
        #expect(bench.heard.messages == ["A job was rejected."])
    }

    @Test func answerMayRejectTheEntry() throws {
        try receive(["1-0"])
        bench.redis.answer(.pairs(["outcome": .text("reject"), "reason": .text("the id is another job's")]))
        #expect(bench.redis.waiting.map(\.name) == ["reject"])
        #expect(bench.redis.waiting[0].words.contains("the id is another job's"))
    }

    /// Another worker has rejected it before.
    @Test func rejectionThatCameTooLateIsNotCounted() throws {
        try receive(["1-0"], fields: ["message", Self.message])
        bench.redis.answer(.text("gone"))
        #expect(intake.isIdle)
        #expect(bench.heard.messages == [])
    }

    @Test func refusedRejectionLeavesTheEntryForTheNextRead() throws {
        var refusals = 0
        bench.context.redis.onRefused = { _ in refusals += 1 }
        try receive(["1-0"], fields: ["message", Self.message])
        bench.redis.refuse("NOPERM no right")
        #expect(refusals == 1)
        #expect(intake.isIdle && intake.demand.leftovers == .later)
    }

    @Test func manyRejectionsAreLoggedOnceASecond() throws {
        try receive((1...20).map { "\($0)-0" }, fields: ["message", Self.message])
        bench.redis.serve { _ in .text("rejected") }
        #expect(bench.heard.messages == ["A job was rejected."])
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.heard.messages.count == 2)
        #expect(bench.heard.metadata.last?["count"] == "19")
    }
}
