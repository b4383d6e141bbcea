import Testing

@testable import HTTPLanes

@Suite struct AnswerBudgetTests {
    private func holding(_ bytes: Int, largest: Int? = nil) -> AnswerBudget.Holding {
        AnswerBudget.Holding(bytes: bytes, largest: largest ?? bytes)
    }

    @Test func chargeReplacesTheLanesChargeBefore() {
        var budget = AnswerBudget(maximumBytes: 100)
        budget.charge(1, holding(40))
        budget.charge(2, holding(30))
        budget.charge(1, holding(50))
        #expect(budget.bytes == 80 && !budget.isExceeded)
        budget.charge(2, holding(51))
        #expect(budget.bytes == 101 && budget.isExceeded)
    }

    @Test func releasedLanesHoldNothing() {
        var budget = AnswerBudget(maximumBytes: 100)
        budget.charge(1, holding(40))
        budget.charge(2, holding(30))
        budget.charge(1, holding(0))
        budget.release(2)
        budget.release(2)
        budget.release(3)
        #expect(budget == AnswerBudget(maximumBytes: 100))
        #expect(budget.bytes == 0 && budget.holderOfLargest == nil)
    }

    /// Not the lane with most bytes: it may carry many small answers.
    @Test func laneWithTheLargestAnswerIsChosen() {
        var budget = AnswerBudget(maximumBytes: 100)
        budget.charge(1, holding(90, largest: 9))
        budget.charge(2, holding(30, largest: 30))
        budget.charge(3, holding(31, largest: 29))
        #expect(budget.holderOfLargest == 2)
        budget.charge(3, holding(31, largest: 30))
        #expect(budget.holderOfLargest == 2)
        budget.release(2)
        #expect(budget.holderOfLargest == 3)
    }

    @Test func budgetWithoutRoomIsExceededByTheFirstByte() {
        var budget = AnswerBudget(maximumBytes: 0)
        #expect(!budget.isExceeded)
        budget.charge(1, holding(1))
        #expect(budget.isExceeded && budget.holderOfLargest == 1)
    }

    /// A body counts until its owner has it: a cut answer would otherwise leave room for the next one at once.
    @Test func laneDoesNotReadBeforeTheBodiesOfEndedAnswersAreDelivered() {
        var budget = AnswerBudget(maximumBytes: 100)
        #expect(budget.mayRead)
        budget.completed(AnswerBudget.maximumUndeliveredBytes - 1)
        #expect(budget.mayRead)
        budget.completed(1)
        #expect(!budget.mayRead && !budget.isExceeded)
        budget.delivered(1)
        #expect(budget.mayRead && budget.undeliveredBytes == AnswerBudget.maximumUndeliveredBytes - 1)
    }

    /// What a body takes is its capacity, which exceeds its bytes by a quarter and what the allocator rounds up.
    @Test func bodyTakesAQuarterMoreThanItsBytesAtMost() {
        var body: [UInt8] = []
        #expect(body.heldBytes == 0)
        let part = [UInt8](repeating: 7, count: 1_000)
        for count in 1...256 {
            part.withUnsafeBytes { body.appendPart($0) }
            #expect(body.heldBytes >= count * 1_000 && body.heldBytes <= count * 1_250 + 4_096)
        }
        #expect(body == [UInt8](repeating: 7, count: 256_000))
    }
}
