package import FanfareModel

/// How one request on a lane ended, as its engine reports it. The pool decides what follows.
package struct RequestEnd: Equatable {
    /// The class of the outcome, by proof.
    package enum Proof: Equatable {
        /// The request certainly did not leave.
        case unsent
        /// The server reported that it did not process the request.
        case refused
        /// The request left, or may have, and there is no answer.
        case ambiguous
        case answered(HTTPAnswer)
    }

    package var proof: Proof
    /// Why there is no answer; nil for an answer.
    package var reason: Reason?
    /// Whether another connection may take an unsent request at once: this one ended before the request left. False if
    /// no connection was made, because the next one would fail too, and if the pool ended the request.
    package var mayMove: Bool
    /// What the end shows about the lane.
    package var ending: LaneState.Ending

    package init(proof: Proof, reason: Reason? = nil, mayMove: Bool = false, ending: LaneState.Ending) {
        self.proof = proof
        self.reason = reason
        self.mayMove = mayMove
        self.ending = ending
    }
}
