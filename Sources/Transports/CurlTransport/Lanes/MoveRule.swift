/// Whether a request that certainly was not processed goes to another lane, unseen by the caller.
///
/// The end of a connection touches requests that did nothing wrong, and the next connection will most often take them.
/// A server that goes on refusing is the caller's business: only there is waiting durable.
enum MoveRule {
    static let mostRefusals = 2
    static let mostMoves = 5

    static func moves(_ kind: OutcomeClassifier.Class, _ facts: TransferFacts, refusals: Int, moves: Int) -> Bool {
        guard moves < mostMoves else { return false }
        switch kind {
        case .refused: return refusals < mostRefusals
        // The connection ended before the body was asked for; one that never came about would not the next time.
        case .unsent:
            return facts.code != nil && facts.code != CurlCode.operationTimedOut && !CurlCode.provesUnsent(facts.code)
        case .ambiguous, .answered: return false
        }
    }
}
