/// Decides whether a request that certainly was not processed goes to another lane, unseen by the caller.
///
/// After the end of a connection, the next one takes most of its requests. If a server continues to refuse, the caller
/// has to wait: only there is waiting durable.
enum MoveRule {
    static let maximumRefusals = 2
    static let maximumMoves = 5

    static func moves(_ end: RequestEnd, refusals: Int, moves: Int) -> Bool {
        guard moves < maximumMoves else { return false }
        switch end.proof {
        case .refused: return refusals < maximumRefusals
        case .unsent: return end.mayMove
        case .ambiguous, .answered: return false
        }
    }
}
