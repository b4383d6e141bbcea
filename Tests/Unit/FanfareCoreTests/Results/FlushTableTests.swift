import FanfareModel
import StreamWire
import Testing

@testable import FanfareCore

/// A flush in each of its states, and what each event does to it.
@Suite struct FlushTableTests {
    enum State: CaseIterable { case waiting, inFlight, answered }

    private static func flush(_ job: String, late: Bool = false) -> Flush {
        let source = BatchSource(job: job, batch: "0", epoch: "1", isManagement: false)
        var call = RecordCall(source)
        call.late = late
        call.results.append(index: 0, status: .sent)
        return Flush(slot: nil, source: source, call: call)
    }

    /// A table with one flush, whose id is 1.
    private static func table(_ state: State, isOpen: Bool = true) -> FlushTable {
        var table = FlushTable()
        _ = table.open(isSameServer: true)
        #expect(table.add(flush("a")) == 1)
        if state != .waiting { #expect(table.begin(1) != nil) }
        if state == .answered { _ = table.handle(.reply(.ok()), of: 1, now: 0) }
        if !isOpen { table.cut() }
        return table
    }

    @Test(arguments: [
        (State.waiting, true, true), (.inFlight, true, false), (.answered, true, false),
        (.waiting, false, false), (.inFlight, false, false), (.answered, false, false),
    ])
    func flushIsWrittenOnceAConnection(state: State, isOpen: Bool, isWritten: Bool) {
        var table = Self.table(state, isOpen: isOpen)
        #expect((table.begin(1) != nil) == isWritten)
        #expect(table.begin(1) == nil)
    }

    @Test(arguments: State.allCases) func newConnectionWritesWhatHasNoAnswer(state: State) {
        var table = Self.table(state, isOpen: false)
        #expect(table.isEmpty == (state == .answered))
        #expect(table.open(isSameServer: true).isEmpty)
        #expect(table.waiting == (state == .answered ? [] : [1]))
    }

    /// The functions were loaded again on the connection: what is in flight is answered there.
    @Test(arguments: State.allCases) func sameConnectionWritesOnlyWhatWaits(state: State) {
        var table = Self.table(state)
        _ = table.open(isSameServer: true)
        #expect(table.waiting == (state == .waiting ? [1] : []))
    }

    @Test(arguments: State.allCases, [true, false])
    func firstReplyEndsAFlush(state: State, isOpen: Bool) {
        var table = Self.table(state, isOpen: isOpen)
        for isFirst in [state != .answered, false] {
            switch table.handle(.reply(.stale), of: 1, now: 0) {
            case .answered(let flush, .stale): #expect(isFirst && flush == Self.flush("a"))
            case .none: #expect(!isFirst)
            case .answered, .writeAgain: Issue.record("another conclusion")
            }
            #expect(table.isEmpty)
        }
    }

    @Test(arguments: [(FlushTable.Answer.refused, Int64(100)), (.unreadable, 1_000)])
    func flushThatWasNotTakenIsWrittenAgain(_ answer: FlushTable.Answer, pauseMs: Int64) {
        var table = Self.table(.inFlight)
        guard case .writeAgain(pauseMs) = table.handle(answer, of: 1, now: 0) else {
            Issue.record("it is not repeated after \(pauseMs) ms")
            return
        }
        #expect(table.waiting == [1] && table.begin(1) != nil)
    }

    @Test(arguments: [(FlushTable.Answer.refused, false), (.unreadable, false), (.lost, false), (.lost, true)])
    func lostFlushIsLeftToTheNextConnection(_ answer: FlushTable.Answer, isOpen: Bool) {
        var table = Self.table(.inFlight, isOpen: isOpen)
        guard case .none = table.handle(answer, of: 1, now: 0) else {
            Issue.record("it is repeated before the next connection")
            return
        }
        #expect(table.begin(1) == nil)
        table.cut()
        _ = table.open(isSameServer: true)
        #expect(table.waiting == [1])
    }

    @Test func flushesKeepTheirOrder() {
        var table = FlushTable()
        let ids = ["a", "b", "c", "d"].map { table.add(Self.flush($0)) }
        _ = table.open(isSameServer: true)
        #expect(table.waiting == ids)
        #expect(ids.compactMap { table.begin($0)?.source.job } == ["a", "b", "c", "d"])
        _ = table.handle(.refused, of: ids[2], now: 0)
        _ = table.handle(.refused, of: ids[1], now: 0)
        #expect(table.waiting == [ids[1], ids[2]])
    }

    // MARK: Replay

    @Test func anotherServerGetsConfirmedResultsOnce() {
        var table = Self.table(.answered, isOpen: false)
        #expect(table.open(isSameServer: true).isEmpty)
        table.cut()
        #expect(table.open(isSameServer: false).map(\.source.job) == ["a"])
        table.cut()
        #expect(table.open(isSameServer: false).isEmpty)
    }

    /// Only what Redis has written can be forgotten by it: not what was refused, nor a late fact.
    @Test(arguments: [(RecordReply.stale, false), (.gone, false), (.ok(), true)])
    func refusedAndLateFlushesAreNotReplayed(_ reply: RecordReply, late: Bool) {
        var table = FlushTable()
        let id = table.add(Self.flush("a", late: late))
        _ = table.open(isSameServer: true)
        _ = table.begin(id)
        _ = table.handle(.reply(reply), of: id, now: 0)
        #expect(table.open(isSameServer: false).isEmpty)
    }
}
