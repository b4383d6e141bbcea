import TestSupport
import Testing

@testable import FanfareCore

@Suite struct ReadPlanTests {
    private typealias Demand = ReadPlan.Demand
    private typealias Answer = ReadPlan.Answer

    private static let open = Demand(room: 256)

    /// A plan with as many streams, connected, all pending entries read.
    private func plan(streams: Int) -> ReadPlan {
        var plan = ReadPlan(streams: streams)
        let demands = Array(repeating: Self.open, count: streams)
        _ = plan.actions(.connected(demands))
        for _ in 0..<streams { _ = plan.actions(.answered(.empty, demands)) }
        return plan
    }

    // MARK: Two readers

    @Test func sleepingReaderReadsNewEntriesOfItsStreamsForLong() {
        var plan = ReadPlan(streams: 2, isSleeper: true)
        let demands = [Self.open, .elsewhere]
        #expect(plan.actions(.connected(demands)) == [.read(.init(streams: [0], count: 1, blockMs: 4_000))])
        #expect(plan.isReading(0) && !plan.isReading(1) && plan.isRecovered(0))
        #expect(plan.actions(.answered(.empty, [.elsewhere, .elsewhere])) == [.wait(ms: 500)])
        #expect(!plan.isReading(0) && plan.isIdle)
        let other = plan.actions(.ready([.elsewhere, Self.open]))
        #expect(other == [.read(.init(streams: [1], count: 1, blockMs: 4_000))])
        #expect(plan.actions(.disconnected).isEmpty && !plan.isReading(1))
    }

    /// A push to one of a thousand silent projects does not make Redis look at them in parts.
    @Test func fewEntriesDoNotEndTheReadOfAllSleepingStreams() throws {
        var plan = ReadPlan(streams: 64, isSleeper: true)
        let demands = Array(repeating: Self.open, count: 64)
        func next(_ event: ReadPlan.Event) throws -> ReadPlan.Read {
            let actions = plan.actions(event)
            guard case .read(let read)? = actions.first, actions.count == 1 else {
                throw TestFailure("not one read: \(actions)")
            }
            return read
        }
        func given(_ givers: Range<Int>, of streams: Int) -> ReadPlan.Event {
            .answered(.entries((0..<streams).map { givers.contains($0) ? 100 : 0 }), demands)
        }
        let whole = ReadPlan.Read(streams: Array(0..<64), count: 1, blockMs: 4_000)
        // In parts at first: the sizes of their entries are not known.
        var read = try next(.connected(demands))
        for _ in 0..<200 where read != whole {
            read = try next(.answered(.emptyOf(read.streams.count), demands))
        }
        #expect(read == whole)
        for few in [0..<1, 1..<9, 9..<10] { #expect(try next(given(few, of: 64)) == whole) }
        // Many, and one that gives again.
        for givers in [20..<29, 9..<10] {
            var part = try next(given(givers, of: 64))
            #expect(part.streams.count < 64 && part.blockMs == nil, "\(givers)")
            // Parts with large entries end in no read of all, however few streams they have.
            for _ in 0..<200 {
                let large = Array(repeating: 1 << 20, count: part.streams.count)
                part = try next(.answered(.entries(large), demands))
                #expect(part.blockMs == nil)
            }
            for _ in 0..<200 where part != whole {
                part = try next(.answered(.emptyOf(part.streams.count), demands))
            }
            #expect(try part == whole && next(given(9..<10, of: 64)) == whole)
        }
    }

    /// Else a process that is to exit when it is idle would never.
    @Test func readerWithoutStreamsOfItsOwnHasFoundNothing() {
        var plan = plan(streams: 2)
        let actions = plan.actions(.answered(.entries([5, 0]), [.elsewhere, .elsewhere]))
        #expect(plan.foundNothing && actions == [.wait(ms: 500)])
    }

    @Test func lostEntriesAreReadAgain() {
        var plan = plan(streams: 2)
        plan.recover(stream: 1)
        let demands = [Self.open, Self.open]
        #expect(!plan.isRecovered(1))
        let actions = plan.actions(.answered(.empty, demands))
        #expect(actions == [.read(.init(streams: [1], count: 1, after: "0"))])
    }

    // MARK: States

    @Test(
        arguments: [
            .disconnected, .ready([open]), .waited([open]), .answered(.empty, [open]), .failed(.other), .stopped,
        ] as [ReadPlan.Event]
    )
    func nothingIsReadBeforeAConnection(_ event: ReadPlan.Event) {
        var plan = ReadPlan(streams: 1)
        #expect(plan.actions(event).isEmpty && !plan.isIdle)
    }

    @Test(arguments: [.ready([open]), .waited([open])] as [ReadPlan.Event])
    func oneReadIsInFlightAtATime(_ event: ReadPlan.Event) {
        var plan = plan(streams: 1)
        #expect(!plan.isIdle && plan.actions(event).isEmpty)
    }

    @Test(arguments: [.ready([open]), .waited([open]), .connected([open])] as [ReadPlan.Event])
    func nothingIsReadAfterAStop(_ event: ReadPlan.Event) {
        var plan = plan(streams: 1)
        #expect(plan.actions(.stopped).isEmpty)
        #expect(plan.actions(.answered(.empty, [Self.open])).isEmpty)
        #expect(plan.actions(event).isEmpty)
    }

    @Test func disconnectionEndsReadingUntilTheNextConnection() {
        var plan = plan(streams: 1)
        #expect(plan.actions(.disconnected).isEmpty)
        #expect(plan.actions(.failed(.other)) == [.wait(ms: 200)])
        #expect(plan.actions(.waited([Self.open])).isEmpty)
        #expect(plan.actions(.connected([Self.open])) == [.read(.pending(0, after: "0", count: 1))])
    }

    @Test func oneWaitLastsAtATime() {
        var plan = ReadPlan(streams: 1)
        let full = [Demand(room: 0)]
        #expect(plan.actions(.connected(full)) == [.wait(ms: 20)])
        #expect(plan.actions(.ready(full)).isEmpty)
        #expect(plan.actions(.waited(full)) == [.wait(ms: 20)])
    }

    // MARK: Pending entries

    @Test func pendingEntriesAreReadPageByPageBeforeNewOnes() {
        var plan = ReadPlan(streams: 2)
        let demands = [Self.open, Self.open]
        #expect(plan.actions(.connected(demands)) == [.read(.pending(0, after: "0", count: 1))])
        #expect(
            plan.actions(.answered(.page(last: "5-0"), demands)) == [.read(.pending(0, after: "5-0", count: 2))]
        )
        #expect(plan.actions(.answered(.empty, demands)) == [.read(.pending(1, after: "0", count: 1))])
        let new = plan.actions(.answered(.empty, demands))
        #expect(new.reads.map(\.after) == [nil])
    }

    @Test func streamWithoutRoomIsRecoveredLater() {
        var plan = ReadPlan(streams: 2)
        let demands = [Demand(room: 0), Self.open]
        #expect(plan.actions(.connected(demands)) == [.read(.pending(1, after: "0", count: 1))])
        #expect(plan.actions(.answered(.empty, demands)).reads.map(\.streams) == [[1]])
    }

    @Test func failedPageIsReadAgain() {
        var plan = ReadPlan(streams: 1)
        _ = plan.actions(.connected([Self.open]))
        _ = plan.actions(.answered(.page(last: "5-0"), [Self.open]))
        #expect(plan.actions(.failed(.other)) == [.wait(ms: 200)])
        #expect(plan.actions(.waited([Self.open])).reads.map(\.after) == ["5-0"])
    }

    /// The first page may fail for ever; the pages after it and new entries must be read nevertheless.
    @Test func leftoversAreReadFromTheFirstPageAndThenWhereReadingWas() {
        var plan = ReadPlan(streams: 1)
        _ = plan.actions(.connected([Self.open]))
        let leftovers = [Demand(room: 256, leftovers: .readable)]
        let first = plan.actions(.answered(.page(last: "5-0"), leftovers))
        #expect(first.first == .rereadLeftovers(0) && first.reads.map(\.after) == ["0"])
        #expect(plan.actions(.answered(.page(last: "3-0"), [Self.open])).reads.map(\.after) == ["5-0"])
        #expect(plan.actions(.answered(.page(last: "9-0"), [Self.open])).reads.map(\.after) == ["9-0"])
    }

    @Test(arguments: [(ReadPlan.Leftovers.later, true), (.due, false)])
    func dueLeftoversKeepNewEntriesOut(_ leftovers: ReadPlan.Leftovers, reads: Bool) {
        var plan = plan(streams: 1)
        let actions = plan.actions(.answered(.entries([400]), [Demand(room: 256, leftovers: leftovers)]))
        #expect(actions.reads.isEmpty != reads)
        #expect(reads || actions == [.wait(ms: 20)])
    }

    // MARK: New entries

    @Test func blockingReadEndsWithTheFirstPush() {
        var plan = plan(streams: 1)
        #expect(!plan.foundNothing)
        let read = plan.actions(.answered(.empty, [Self.open])).reads
        #expect(read == [ReadPlan.Read(streams: [0], count: 1, blockMs: ReadPlan.blockMs)])
        #expect(plan.foundNothing)
        _ = plan.actions(.answered(.entries([400]), [Self.open]))
        #expect(!plan.foundNothing)
    }

    @Test(
        arguments: [
            (Demand(room: 1), ReadPlan.blockMs), (Demand(room: 1, leftovers: .later), ReadPlan.shortBlockMs),
            (Demand(room: 1, isReclaiming: true), ReadPlan.shortBlockMs), (Demand(room: 0, isFull: true), nil),
        ] as [(ReadPlan.Demand, Int64?)]
    )
    func blockingTimeDependsOnWhatIsAwaited(_ other: ReadPlan.Demand, blockMs: Int64?) {
        var plan = plan(streams: 2)
        let actions = plan.actions(.answered(.entries([400, 400]), [Self.open, other]))
        #expect(actions.reads.map(\.blockMs) == [blockMs])
    }

    /// What another one waits for must be noticed sooner.
    @Test(arguments: [
        (Demand(room: 1, isQuiet: true), ReadPlan.quietBlockMs), (.none, ReadPlan.quietBlockMs),
        (Demand(room: 1), ReadPlan.blockMs), (Demand(room: 0, isQuiet: true), ReadPlan.blockMs),
    ])
    func readOfQuietProjectsBlocksLonger(_ other: ReadPlan.Demand, blockMs: Int64) {
        var plan = plan(streams: 2)
        let demands = [Demand(room: 256, isQuiet: true), other]
        #expect(plan.actions(.answered(.entries([400, 400]), demands)).reads.map(\.blockMs) == [ReadPlan.blockMs])
        #expect(plan.actions(.answered(.emptyOf(2), demands)).reads.map(\.blockMs) == [blockMs])
    }

    @Test func countIsBoundedByTheSmallestRoom() {
        var plan = plan(streams: 2)
        let demands = [Demand(room: 256), Demand(room: 3)]
        for _ in 0..<10 { _ = plan.actions(.answered(.entries([400, 400]), demands)) }
        let read = plan.actions(.answered(.entries([400, 400]), demands)).reads
        #expect(read.map(\.count) == [3] && read.map(\.maximumEntries) == [6])
    }

    @Test func streamsOfLargeEntriesAreReadInTurns() {
        var plan = plan(streams: 3)
        let demands = Array(repeating: Self.open, count: 3)
        var turns: [[Int]] = []
        for _ in 0..<9 {
            let reads = plan.actions(.answered(.entries([50_000_000, 50_000_000, 50_000_000]), demands)).reads
            turns += reads.map(\.streams)
            #expect(reads.allSatisfy { $0.blockMs == nil && $0.count == 1 })
        }
        #expect(turns.suffix(6).map(\.count) == Array(repeating: 1, count: 6))
        #expect(Set(turns.suffix(3).joined()) == [0, 1, 2])
    }

    @Test func emptyStreamsOfLargeEntriesAreReadTogetherAndBlocking() {
        var plan = plan(streams: 2)
        let demands = [Self.open, Self.open]
        for _ in 0..<4 { _ = plan.actions(.answered(.entries([50_000_000, 50_000_000]), demands)) }
        #expect(plan.actions(.answered(.emptyOf(1), demands)).reads.map(\.blockMs) == [nil])
        #expect(
            plan.actions(.answered(.emptyOf(1), demands)).reads
                == [ReadPlan.Read(streams: [0, 1], count: 1, blockMs: ReadPlan.blockMs)]
        )
    }

    @Test func repeatedEmptyReadsThatDoNotBlockPause() {
        var plan = plan(streams: 2)
        let demands = [Self.open, Demand(room: 0, isFull: true)]
        var actions: [ReadPlan.Action] = []
        for _ in 0..<5 where !actions.contains(.wait(ms: 20)) {
            actions = plan.actions(.answered(.emptyOf(1), demands))
        }
        #expect(actions == [.wait(ms: 20)])
    }

    // MARK: Failures

    @Test func missingGroupIsCreated() {
        var plan = plan(streams: 2)
        let read = plan.actions(.answered(.empty, [Self.open, Self.open])).reads
        #expect(plan.actions(.failed(.groupMissing)) == [.createGroups(read[0].streams), .wait(ms: 200)])
    }

    @Test func tooLargeAnswerIsFollowedByReadsOfOneEntry() {
        var plan = plan(streams: 1)
        for _ in 0..<10 { _ = plan.actions(.answered(.entries([400]), [Self.open])) }
        #expect(plan.actions(.answered(.entries([400]), [Self.open])).reads.map(\.count) == [256])
        #expect(plan.actions(.disconnected).isEmpty, "the connection ends with it")
        #expect(plan.actions(.failed(.answerTooLarge)) == [.wait(ms: 200)])
        #expect(plan.actions(.connected([Self.open])).reads.map(\.count) == [1])
    }

    // MARK: Projects that come and go

    @Test func addedStreamIsReadFromItsPendingEntriesOn() {
        var plan = plan(streams: 1)
        plan.addStream()
        let demands = [Self.open, Self.open]
        guard case .read(let read)? = plan.actions(.answered(.empty, demands)).first else {
            Issue.record("nothing is read")
            return
        }
        #expect(read.streams == [1] && read.after == "0")
    }

    @Test func restartedStreamReadsItsPendingEntriesAgain() {
        var plan = plan(streams: 2)
        let demands = [Self.open, Self.open]
        plan.restart(stream: 1)
        plan.restart(stream: 7)
        guard case .read(let read)? = plan.actions(.answered(.empty, demands)).first else {
            Issue.record("nothing is read")
            return
        }
        #expect(read.streams == [1] && read.after == "0")
    }

    /// The read in flight was for the project that had the place before: its empty page says nothing about the new one.
    @Test func answerToAReadBeforeARestartIsNotTakenForTheNewStream() {
        var plan = ReadPlan(streams: 1)
        #expect(plan.actions(.connected([Self.open])) == [.read(.pending(0, after: "0", count: 1))])
        plan.restart(stream: 0)
        #expect(plan.actions(.answered(.empty, [Self.open])) == [.read(.pending(0, after: "0", count: 1))])
        #expect(
            plan.actions(.answered(.page(last: "5-0"), [Self.open])) == [.read(.pending(0, after: "5-0", count: 2))]
        )
        plan.restart(stream: 0)
        #expect(plan.actions(.answered(.page(last: "9-0"), [Self.open])).reads.map(\.after) == ["0"])
    }

    @Test func blockingReadBeforeARestartDoesNotSayThatNothingWaits() {
        var plan = plan(streams: 1)
        plan.restart(stream: 0)
        #expect(!plan.isReading(0), "the read in flight is of another project")
        _ = plan.actions(.answered(.empty, [Demand(room: 0)]))
        #expect(!plan.foundNothing)
    }

    @Test func placeOfARemovedProjectIsNotRead() {
        var plan = plan(streams: 2)
        guard case .read(let read)? = plan.actions(.answered(.empty, [.none, Self.open])).first else {
            Issue.record("nothing is read")
            return
        }
        #expect(read.streams == [1])
    }
}

extension ReadPlan {
    fileprivate mutating func actions(_ event: Event) -> [Action] {
        var actions: [Action] = []
        handle(event, into: &actions)
        return actions
    }
}

extension ReadPlan.Answer {
    fileprivate static var empty: Self { emptyOf(8) }
    fileprivate static func emptyOf(_ streams: Int) -> Self {
        ReadPlan.Answer(largest: Array(repeating: 0, count: streams), isEmpty: true)
    }
    fileprivate static func entries(_ largest: [Int]) -> Self {
        ReadPlan.Answer(largest: largest, last: "1-0", isEmpty: false)
    }
    fileprivate static func page(last: String) -> Self {
        ReadPlan.Answer(largest: [400], last: last, isEmpty: false)
    }
}

extension ReadPlan.Read {
    fileprivate static func pending(_ stream: Int, after: String, count: Int) -> Self {
        ReadPlan.Read(streams: [stream], count: count, blockMs: nil, after: after)
    }
}

extension [ReadPlan.Action] {
    fileprivate var reads: [ReadPlan.Read] {
        compactMap { if case .read(let read) = $0 { read } else { nil } }
    }
}
