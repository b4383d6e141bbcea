import FanfareModel
import Testing

@testable import FanfareCore

/// When a request that waits is answered, and with which results.
@Suite struct WaitingTableTests {
    private typealias Table = WaitingTable
    private typealias Place = WaitingTable.Place
    private var table = Table()

    private static func result(_ recipient: String, _ status: ResultStatus = .sent) -> ServedResult {
        ServedResult(status: status, kind: .token, recipient: recipient)
    }

    private static func place(_ indices: Range<Int64>, job: String = "j", project: String = "p") -> Place {
        Place(project: project, job: job, indices: indices)
    }

    private mutating func handle(_ event: Table.Event) -> [Table.Action] {
        var actions: [Table.Action] = []
        table.handle(event, into: &actions)
        return actions
    }

    private mutating func wait(_ request: UInt64, _ place: Place, until ms: UInt64 = 1_000, isPushed: Bool = true) {
        #expect(handle(.wait(request, place, deadlineNs: ms * 1_000_000, isPushed: isPushed)).isEmpty)
    }

    private mutating func receive(_ results: [(Int64, ServedResult)], job: String = "j", project: String = "p")
        -> [Table.Action]
    {
        handle(.results(project: project, job: job, results.map { (index: $0.0, result: $0.1) }))
    }

    @Test mutating func eachRequestOfAJobGetsItsOwnResults() {
        wait(1, Self.place(0..<1))
        wait(2, Self.place(1..<3))
        #expect(
            receive([(2, Self.result("c", .failed)), (0, Self.result("a"))]) == [
                .answer(1, Self.place(0..<1), [Self.result("a")])
            ]
        )
        #expect(table.count == 1 && table.isAwaited(project: "p", job: "j"))
        let both = [Self.result("b"), Self.result("c", .failed)]
        #expect(receive([(1, Self.result("b"))]) == [.answer(2, Self.place(1..<3), both)])
        #expect(table.count == 0 && !table.isAwaited(project: "p", job: "j") && Array(table.projects).isEmpty)
    }

    @Test mutating func resultsOfOtherJobsAndPositionsAreNotTaken() {
        wait(1, Self.place(4..<5))
        #expect(receive([(3, Self.result("a")), (5, Self.result("b"))]).isEmpty)
        #expect(receive([(4, Self.result("a"))], job: "other").isEmpty)
        #expect(receive([(4, Self.result("a"))], project: "q").isEmpty)
        #expect(table.place(of: 1)?.place == Self.place(4..<5))
    }

    @Test mutating func resultThatIsReadTwiceCountsOnce() {
        wait(1, Self.place(0..<2))
        for _ in 0..<2 { #expect(receive([(0, Self.result("a"))]).isEmpty) }
        #expect(
            receive([(0, Self.result("x")), (1, Self.result("b"))]) == [
                .answer(1, Self.place(0..<2), [Self.result("a"), Self.result("b")])
            ]
        )
    }

    @Test mutating func deadlineAnswersWithWhatIsThere() {
        wait(1, Self.place(0..<2), until: 20)
        wait(2, Self.place(2..<3), until: 10)
        #expect(receive([(1, Self.result("b"))]).isEmpty && handle(.passed(nowNs: 9_999_999)).isEmpty)
        #expect(
            handle(.passed(nowNs: 20_000_000)) == [
                .answer(2, Self.place(2..<3), [nil]), .answer(1, Self.place(0..<2), [nil, Self.result("b")]),
            ]
        )
        #expect(receive([(0, Self.result("a"))]).isEmpty && table.count == 0)
    }

    /// Else a client would be told of a job that Redis does not have.
    @Test mutating func deadlineWaitsForThePush() {
        wait(1, Self.place(0..<1), until: 10, isPushed: false)
        #expect(handle(.passed(nowNs: .max)).isEmpty && table.place(of: 1)?.isPushed == false)
        #expect(handle(.pushed(project: "p", job: "other", nowNs: 0)).isEmpty && handle(.passed(nowNs: .max)).isEmpty)
        #expect(handle(.pushed(project: "p", job: "j", nowNs: 0)).isEmpty)
        #expect(table.requests(project: "p", job: "j") == [1])
        #expect(handle(.passed(nowNs: 10_000_000)) == [.answer(1, Self.place(0..<1), [nil])])
        #expect(!table.isAwaited(project: "p"))
    }

    @Test mutating func pushAnswersRequestsWhoseDeadlineIsOver() {
        wait(1, Self.place(0..<1), until: 10, isPushed: false)
        wait(2, Self.place(1..<2), until: 11, isPushed: false)
        let actions = handle(.pushed(project: "p", job: "j", nowNs: 10_000_000))
        #expect(actions == [.answer(1, Self.place(0..<1), [nil])])
    }

    @Test mutating func rejectedJobAnswersAllItsRequests() {
        wait(1, Self.place(0..<1))
        wait(2, Self.place(1..<2))
        wait(3, Self.place(0..<1, job: "other"))
        let actions = handle(.rejected(project: "p", job: "j", problem: "message.data: must be an object"))
        #expect(
            actions == [
                .reject(1, Self.place(0..<1), problem: "message.data: must be an object"),
                .reject(2, Self.place(1..<2), problem: "message.data: must be an object"),
            ]
        )
        #expect(table.count == 1)
    }

    @Test mutating func requestWhoseClientLeftIsNotAnswered() {
        wait(1, Self.place(0..<1))
        #expect(handle(.left(1)).isEmpty && handle(.left(1)).isEmpty && table.place(of: 1) == nil)
        #expect(receive([(0, Self.result("a"))]).isEmpty && handle(.passed(nowNs: .max)).isEmpty)
    }
}
