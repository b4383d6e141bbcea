/// Decides whether a request that certainly was not processed goes to another lane, unseen by the caller.
///
/// After the end of a connection, the next one takes most of its requests. If a server goes on refusing, the caller has
/// to wait: only there is waiting durable.
enum MoveRule {
    static let mostRefusals = 2
    static let mostMoves = 5

    static func moves(_ kind: OutcomeClassifier.Class, _ facts: TransferFacts, refusals: Int, moves: Int) -> Bool {
        guard moves < mostMoves else { return false }
        switch kind {
        case .refused: return refusals < mostRefusals
        // The connection ended before libcurl read the body. One that was never made would fail the next time too.
        case .unsent:
            return facts.code != nil && facts.code != CurlCode.operationTimedOut && !CurlCode.provesUnsent(facts.code)
        case .ambiguous, .answered: return false
        }
    }
}
