internal import FanfareModel

/// Counts since a pool was made, and what it holds now.
public struct PoolStatistics: Equatable, Sendable {
    /// Connections that take requests, or will once they are open.
    public var lanes = 0
    /// Connections that only finish what they carry.
    public var retiringLanes = 0
    public var inFlight = 0
    /// Accepted and not yet given to a lane.
    public var queued = 0
    /// Streams that a new lane begins with; below the configured limit when the server showed a lower one.
    public var streamsPerLane = 0

    public var lanesOpened = 0
    public var lanesRetired = 0
    public var unsent = 0
    public var refused = 0
    public var ambiguous = 0
    public var answered = 0
    /// Answered, but not in full.
    public var incomplete = 0
    /// Refused once and sent again on another lane, unseen by the caller.
    public var movedAfterRefusal = 0
    /// Taken back from a lane that did not ask for the body.
    public var movedAfterStall = 0
    /// Times libcurl was kept from sending a request again that the server may have processed.
    public var resendsVetoed = 0
    public var timedOut = 0

    public init() {}

    mutating func count(_ outcome: RequestOutcome) {
        switch outcome {
        case .unsent: unsent += 1
        case .refused: refused += 1
        case .ambiguous: ambiguous += 1
        case .answered(let answer):
            answered += 1
            if !answer.isComplete { incomplete += 1 }
        // Only XMPP answers with stanzas.
        case .stanza: break
        }
    }
}
