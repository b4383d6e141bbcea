import FanfareModel
import Testing

@testable import HTTPLanes

@Suite struct MoveRuleTests {
    private static let ending = LaneState.Ending.connectionFailed(isEarlier: false)

    @Test(arguments: [
        (RequestEnd(proof: .refused, ending: ending), 0, 0, true),
        (RequestEnd(proof: .refused, ending: ending), 1, 1, true),
        (RequestEnd(proof: .refused, ending: ending), 2, 2, false),
        (RequestEnd(proof: .unsent, mayMove: true, ending: ending), 0, 4, true),
        (RequestEnd(proof: .unsent, mayMove: true, ending: ending), 0, 5, false),
        (RequestEnd(proof: .unsent, mayMove: false, ending: ending), 0, 0, false),
        (RequestEnd(proof: .ambiguous, mayMove: true, ending: ending), 0, 0, false),
        (RequestEnd(proof: .answered(HTTPAnswer(status: 200)), ending: ending), 0, 0, false),
    ])
    func onlyUnprocessedRequestsMove(row: (end: RequestEnd, refusals: Int, moves: Int, expected: Bool)) {
        #expect(MoveRule.moves(row.end, refusals: row.refusals, moves: row.moves) == row.expected)
    }
}
