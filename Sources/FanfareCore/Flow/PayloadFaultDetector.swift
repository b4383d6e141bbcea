public import FanfareModel

/// Stops a fan-out whose message is at fault. Every refused send costs quota, and a bad payload is refused for every
/// recipient alike: when more than half of the first 100 answers blame the message, the rest is not sent.
///
/// An answer blames the message when it is final and its remedy is `fix_message`; an error proved to be the token's
/// own does not. Attempts without an answer of FCM's are not counted. After the first 100 answers nothing changes.
public struct PayloadFaultDetector: Equatable, Sendable {
    /// How many answers are looked at.
    public static let sampleSize = 100

    public private(set) var answers = 0
    public private(set) var faults = 0
    /// The error that the unsent recipients end with; set once the message is found at fault.
    public private(set) var fault: Failure?

    public init() {}

    /// Takes one verdict; true when it is the one that proves the message at fault.
    public mutating func observe(_ verdict: Verdict) -> Bool {
        guard answers < Self.sampleSize, fault == nil, Self.isAnswer(verdict) else { return false }
        answers += 1
        guard case .failed(let failure) = verdict, failure.action == .fixMessage else { return false }
        faults += 1
        guard faults > Self.sampleSize / 2 else { return false }
        fault = failure
        return true
    }

    private static func isAnswer(_ verdict: Verdict) -> Bool {
        switch verdict {
        case .sent, .sentPartly, .failed: return true
        case .retry(let retry): return retry.cause == .answered
        case .unknown, .refreshCredential, .blockProject: return false
        }
    }
}
