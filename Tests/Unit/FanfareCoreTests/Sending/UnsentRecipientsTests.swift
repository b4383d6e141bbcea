import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

@Suite struct UnsentRecipientsTests {
    private func unsent(_ names: [String], confirmed: Int? = nil, change: (inout [HeldRecipient]) -> Void = { _ in })
        -> UnsentRecipients
    {
        var recipients = names.enumerated().map { HeldRecipient(index: $0.offset, value: $0.element) }
        change(&recipients)
        return UnsentRecipients(recipients, confirmed: confirmed ?? names.count)
    }

    private func next(_ unsent: inout UnsentRecipients, most: Int = 1, sharing isShared: Bool = false) -> [Int] {
        var candidates = [99]
        unsent.next(most, sharing: isShared, into: &candidates)
        return candidates
    }

    // MARK: One by one

    @Test func positionsComeInTheirOrder() {
        var unsent = unsent(["a", "b", "c"])
        #expect((0..<4).map { _ in next(&unsent) } == [[0], [1], [2], []])
        #expect(unsent.left == 0)
    }

    @Test func nothingComesFromAboveTheConfirmedWatermark() {
        var unsent = unsent(["a", "b", "c"], confirmed: 1)
        #expect(next(&unsent) == [0] && next(&unsent).isEmpty && unsent.left == 2)
        unsent.watermark.requested = 3
        #expect(next(&unsent).isEmpty, "what is requested is not confirmed")
        unsent.watermark.confirmed = 2
        #expect(next(&unsent) == [1] && next(&unsent).isEmpty)
    }

    @Test func whatIsFinishedOrInDoubtIsNotSent() {
        var unsent = unsent(["a", "b", "c", "d"]) { recipients in
            recipients[0].progress = .settled
            recipients[2].progress = .maybeSent
        }
        #expect(unsent.left == 2 && next(&unsent) == [1] && next(&unsent) == [3])
    }

    // MARK: Equal recipients

    @Test func equalRecipientsAreSentOnceAndReportedEach() {
        var unsent = unsent(["a", "b", "a", "c", "a"])
        #expect(unsent.left == 3 && unsent.aliases == [0: [2, 4]])
        #expect(Array(unsent.sharing(0)) == [0, 2, 4] && Array(unsent.sharing(1)) == [1])
        #expect((0..<4).map { _ in next(&unsent) } == [[0], [1], [3], []])
    }

    /// A crash after the send leaves all of them in doubt, so the watermark has to cover the last.
    @Test func theWatermarkCoversTheLastOfEqualRecipients() {
        var unsent = unsent(["a", "b", "a"], confirmed: 2)
        #expect(next(&unsent).isEmpty)
        #expect(unsent.watermarkToRequest(window: 1) == 3)
        unsent.watermark = .init(confirmed: 3, requested: 3)
        #expect(next(&unsent) == [0] && next(&unsent) == [1])
    }

    /// Other positions do not wait: a guard may grant no more before they are sent, as a canary does.
    @Test func positionWaitsForItsLastEqualRecipientWhileOthersPass() {
        var unsent = granted(["a", "b", "a", "c", "a", "a"], confirmed: 3)
        #expect(next(&unsent) == [1] && next(&unsent).isEmpty && unsent.left == 2)
        unsent.watermark = .init(confirmed: 5, requested: 5)
        #expect(next(&unsent) == [3] && next(&unsent).isEmpty && unsent.left == 1)
        #expect(unsent.watermarkToRequest(window: 1) == 6)
        unsent.watermark = .init(confirmed: 6, requested: 6)
        #expect(next(&unsent) == [0] && Array(unsent.sharing(0)) == [0, 2, 4, 5])
        #expect(next(&unsent).isEmpty && unsent.left == 0)
    }

    @Test func sharedRequestOfAGuardedJobTakesWhatIsGranted() {
        var unsent = granted(["a", "b", "c", "a", "d"], confirmed: 2)
        #expect(unsent.leftBelowWatermark == 1)
        #expect(next(&unsent, most: 2, sharing: true) == [1] && unsent.leftBelowWatermark == 0)
        #expect(next(&unsent, most: 0, sharing: true).isEmpty && unsent.left == 3)
        unsent.watermark = .init(confirmed: 5, requested: 5)
        #expect(unsent.leftBelowWatermark == 3)
        #expect(next(&unsent, most: 2, sharing: true) == [0, 2] && next(&unsent, most: 2, sharing: true) == [4])
        #expect(unsent.left == 0)
    }

    /// As much as is granted must be used before more is asked for.
    @Test func distantEqualRecipientAsksForNoHigherGrant() {
        let names = ["a"] + (1..<50).map { "b\($0)" } + ["a"]
        let unsent = granted(names, confirmed: 10)
        #expect(unsent.watermarkToRequest(window: 4) == nil && unsent.watermarkToRequest(window: 40) == 50)
    }

    private func granted(_ names: [String], confirmed: Int) -> UnsentRecipients {
        let recipients = names.enumerated().map { HeldRecipient(index: $0.offset, value: $0.element) }
        return UnsentRecipients(recipients, confirmed: confirmed, isGranted: true)
    }

    @Test func finishedRecipientHasNoAliases() {
        let unsent = unsent(["a", "a", "a"]) { $0[0].progress = .settled }
        #expect(unsent.aliases == [1: [2]] && unsent.left == 1)
    }

    // MARK: Again

    @Test func aRequestThatNeverLeftIsRepeatedThreeTimes() {
        var unsent = unsent(["a", "b"])
        #expect(next(&unsent) == [0])
        for _ in 0..<3 {
            #expect(unsent.repeatUnsent(Positions(0)) && unsent.left == 2)
            #expect(next(&unsent) == [0], "before the others")
        }
        #expect(!unsent.repeatUnsent(Positions(0)) && unsent.left == 1)
        #expect(!unsent.repeatUnsent(Positions(1, [0])) && unsent.left == 1, "one of them was tried too often")
        #expect(unsent.repeatUnsent(Positions(1)) == true)
    }

    @Test func positionWhoseTokenWasRefusedWaitsOnce() {
        var unsent = unsent(["a", "b"])
        #expect(next(&unsent) == [0])
        #expect(unsent.awaitToken(0) && unsent.awaitsToken && unsent.left == 2 && unsent.leftWithToken == 1)
        #expect(next(&unsent) == [1] && next(&unsent).isEmpty, "the others are sent")
        unsent.tokenCame()
        #expect(!unsent.awaitsToken && next(&unsent) == [0])
        #expect(!unsent.awaitToken(0) && unsent.left == 0)
    }

    @Test(arguments: [(0.0, 0), (0.5, 2), (0.99, 3)]) func probeIsChosenAmongThoseBelowTheWatermark(
        random: Double,
        chosen: Int
    ) {
        var unsent = unsent(["a", "b", "c", "d", "e"], confirmed: 4)
        #expect(unsent.nextAtRandom(random) == chosen)
        unsent.watermark.confirmed = 5
        var rest: [Int] = []
        while let position = next(&unsent).first { rest.append(position) }
        #expect(rest == (0..<5).filter { $0 != chosen }, "the others keep their order")
        #expect(unsent.nextAtRandom(random) == nil)
    }

    @Test func aPositionPassesItsRateCheckOnce() {
        var unsent = unsent(["a", "b"])
        #expect(unsent.removePassed(0) == false)
        #expect(next(&unsent) == [0])
        unsent.repeatPassed(0)
        #expect(next(&unsent) == [0] && unsent.removePassed(0) && !unsent.removePassed(0))
    }

    // MARK: Without a send

    @Test func aPositionThatNeedsNoSendComesFromAboveTheWatermark() {
        var unsent = unsent(["a", "b"], confirmed: 0)
        #expect(unsent.nextWithoutSend() == 0 && unsent.nextWithoutSend() == 1 && unsent.nextWithoutSend() == nil)
    }

    @Test func removeAllLeavesNothing() {
        var unsent = unsent(["a", "b", "c"], confirmed: 1)
        #expect(next(&unsent) == [0] && unsent.awaitToken(0))
        #expect(unsent.removeAll() == [0, 1, 2])
        #expect(unsent.left == 0 && unsent.removeAll().isEmpty && next(&unsent).isEmpty)
    }

    /// Recipients before the boundary are sent when recipients after it may not be yet.
    @Test func equalRecipientsShareNoSendAcrossTheBoundary() {
        let names = ["a", "b", "a", "a", "b", "a"].enumerated().map {
            HeldRecipient(index: $0.offset, value: $0.element)
        }
        let unsent = UnsentRecipients(names, confirmed: 3, boundary: 3)
        #expect(unsent.aliases == [0: [2], 3: [5]])
        #expect(UnsentRecipients(names, confirmed: 3, boundary: 6).aliases == [0: [2, 3, 5], 1: [4]])
        #expect(UnsentRecipients(names, confirmed: 3, boundary: -5).aliases == [0: [2, 3, 5], 1: [4]])
    }

    /// Redis may allow less than is requested: positions above the confirmed watermark stay until it has answered.
    @Test func positionsBelowTheConfirmedWatermarkAreRemoved() {
        var unsent = unsent(["a", "b", "c", "d"], confirmed: 1)
        unsent.watermark.requested = 3
        #expect(next(&unsent) == [0] && unsent.awaitToken(0))
        #expect(unsent.removeBelowWatermark() == [0])
        unsent.watermark.confirmed = 3
        #expect(unsent.removeBelowWatermark() == [1, 2])
        #expect(unsent.left == 1 && unsent.removeAll() == [3])
    }

    // MARK: Several in one request

    @Test func recipientsShareARequestOnceAllAreCovered() {
        var unsent = unsent(["a", "b", "a", "c"], confirmed: 3)
        #expect(next(&unsent, most: 10, sharing: true).isEmpty && unsent.left == 3)
        unsent.watermark.confirmed = 4
        #expect(next(&unsent, most: 2, sharing: true) == [0, 1] && unsent.left == 1)
        #expect(next(&unsent, most: 2, sharing: true) == [3] && next(&unsent, most: 2, sharing: true).isEmpty)
    }

    @Test func repeatedPositionsShareTheNextRequest() {
        var unsent = unsent(["a", "b", "c"])
        #expect(next(&unsent, most: 2, sharing: true) == [0, 1])
        #expect(unsent.repeatUnsent(Positions(0, [1])) == true)
        #expect(Set(next(&unsent, most: 10, sharing: true)) == [0, 1, 2])
    }

    // MARK: The watermark to request

    @Test(
        arguments: [
            // Half of the window is left, or more.
            (count: 100, confirmed: 10, requested: 10, sent: 5, window: 10, wanted: nil),
            (100, 10, 10, 6, 10, 20),
            (100, 10, 10, 10, 10, 20),
            // One request at a time, unless its recipients are nearly begun.
            (100, 10, 20, 10, 10, nil),
            (15, 10, 10, 8, 10, 15),
            (10, 10, 10, 9, 10, nil),
            (4, 0, 0, 0, 128, 4),
        ] as [(Int, Int, Int, Int, Int, Int?)]
    )
    func theWatermarkIsRequestedAhead(
        count: Int,
        confirmed: Int,
        requested: Int,
        sent: Int,
        window: Int,
        wanted: Int?
    ) {
        var unsent = unsent((0..<count).map { "t\($0)" }, confirmed: confirmed)
        unsent.watermark.requested = requested
        for _ in 0..<sent { _ = next(&unsent) }
        #expect(unsent.watermarkToRequest(window: window) == wanted)
    }

    @Test func nothingIsRequestedWhenNothingIsLeft() {
        var unsent = unsent(["a", "b"], confirmed: 1)
        _ = unsent.removeAll()
        #expect(unsent.watermarkToRequest(window: 10) == nil)
    }
}
