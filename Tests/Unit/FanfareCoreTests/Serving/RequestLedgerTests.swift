import Testing

@testable import FanfareCore

/// The records of requests, event by event.
@Suite struct RequestLedgerTests {
    private let place = DuplicateRule.Place(job: "gw-1", indices: 0..<1)
    private let answer = ServedAnswer(status: 500, type: nil)

    private func ledger(isPushed: Bool) -> RequestLedger {
        var ledger = RequestLedger()
        ledger.enter(1, key: "k")
        ledger.place(1, at: place)
        if isPushed { #expect(ledger.markPushed(1) == nil) }
        return ledger
    }

    @Test func pushWritesAnOpenRecord() throws {
        let written = try #require(ledger(isPushed: false).record(of: 1))
        #expect(written.key == "k" && written.record == .open(place))
    }

    @Test func pushAfterTheClientLeftWritesThat() throws {
        var ledger = ledger(isPushed: false)
        #expect(ledger.end(1, .left) == nil)
        #expect(try #require(ledger.record(of: 1)).record == .left(place))
        // The push may have written `open` before.
        #expect(ledger.markPushed(1) == .init(request: 1, key: "k", record: .left(place)))
        #expect(ledger.count == 0)
    }

    @Test func endingOfAPushedRequestChangesItsRecord() {
        let rows: [(RequestLedger.Ending, DuplicateRule.Record?)] = [
            (.written, nil), (.left, .left(place)), (.answered(answer), .answered(answer)),
        ]
        for (ending, record) in rows {
            var ledger = ledger(isPushed: true)
            #expect(ledger.end(1, ending) == .init(request: 1, key: "k", record: record))
            #expect(ledger.count == 0)
            #expect(ledger.end(1, .left) == nil, "a request ends once")
        }
    }

    @Test func endingWhileThePushIsInFlightIsWrittenAfterIt() {
        var ledger = ledger(isPushed: false)
        #expect(ledger.end(1, .answered(answer)) == nil)
        #expect(ledger.end(1, .left) == nil)
        #expect(ledger.markPushed(1) == .init(request: 1, key: "k", record: .answered(answer)))
    }

    @Test func requestThatIsForgottenOrNeverEnteredHasNoRecord() {
        var ledger = ledger(isPushed: false)
        ledger.forget(1)
        for request in [1, 2] as [UInt64] {
            ledger.place(request, at: place)
            #expect(ledger.record(of: request) == nil)
            #expect(ledger.end(request, .left) == nil && ledger.markPushed(request) == nil)
        }
        #expect(ledger.count == 0)
    }

    @Test func equalRequestWaitsForWhatIsNotInRedisYet() throws {
        for ending in [.left, .answered(answer)] as [RequestLedger.Ending] {
            var ledger = ledger(isPushed: false)
            #expect(!ledger.hasUnwritten("k"))
            _ = ledger.end(1, ending)
            #expect(ledger.hasUnwritten("k"))
            var forgetful = ledger
            forgetful.forget(1)
            #expect(!forgetful.hasUnwritten("k"))
            let change = ledger.markPushed(1)
            #expect(ledger.hasUnwritten("k"), "Redis does not have it")
            ledger.confirm([try #require(change)])
            #expect(!ledger.hasUnwritten("k"))
        }
        var written = ledger(isPushed: false)
        _ = written.end(1, .written)
        if let change = written.markPushed(1) { written.confirm([change]) }
        #expect(!written.hasUnwritten("k"), "an equal request is a send of its own")
    }
}
