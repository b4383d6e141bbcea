/// The `error` of a failed result. One vocabulary for every transport.
public enum ErrorCode: String, Equatable, Sendable, CaseIterable {
    case unregistered = "UNREGISTERED"
    case invalidArgument = "INVALID_ARGUMENT"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case internalError = "INTERNAL"
    case unspecified = "UNSPECIFIED_ERROR"
    /// The request never reached FCM, and the tries are over.
    case transport = "TRANSPORT"
    case emptyGroup = "EMPTY_GROUP"
    case tooManyTopics = "TOO_MANY_TOPICS"
}

/// Advice to the producer about a result.
public enum RemedyAction: String, Equatable, Sendable, CaseIterable {
    case none, remove, replace
    case fixMessage = "fix_message"
    case fixCredentials = "fix_credentials"
}

/// What is counted of a failed result: its error and the advice. In a job's hash it is the field `error.<error>.<action>`.
public struct FailureKind: Hashable, Sendable {
    public var error: ErrorCode
    public var action: RemedyAction

    public init(_ error: ErrorCode, _ action: RemedyAction) {
        self.error = error
        self.action = action
    }

    public var text: String { "\(error.rawValue).\(action.rawValue)" }
}

/// An error of one recipient, final or to be retried.
public struct Failure: Equatable, Sendable {
    public var error: ErrorCode
    public var action: RemedyAction
    /// The wire's own code, at most 200 bytes, control characters replaced; empty when there was none.
    public var rawError: String
    /// 0 when there was no HTTP status.
    public var httpStatus: Int
    /// The wait that the answer asked for before another try of a refused recipient, in milliseconds; 0 for none.
    public var leastWaitMs: Int64 = 0

    public init(error: ErrorCode, action: RemedyAction, rawError: String = "", httpStatus: Int = 0) {
        self.error = error
        self.action = action
        self.rawError = rawError
        self.httpStatus = httpStatus
    }

    /// A status of 500 to 599.
    public var isServerError: Bool { (500...599).contains(httpStatus) }
}

/// Decision about one recipient after one attempt.
public enum Verdict: Equatable, Sendable {
    /// FCM accepted the message. The id is empty when the answer's body was lost.
    case sent(messageID: String, canonical: String?)
    /// FCM accepted the message for a device group, and named members that did not get it.
    case sentPartly(messageID: String, failedTokens: [String])
    /// A group operation was carried out. The key may look unlike the one that was given, and is as valid.
    case managed(group: String)
    /// The names that a question about the recipient was answered with.
    case listed([String])
    /// The recipient has failed, and is not sent to again.
    case failed(Failure)
    /// The outcome of the attempt is unknown, and the job is `at_most_once`: the recipient is not sent to again.
    /// The failure is for logs only. `retryAfterMs` is the Retry-After of a 5xx; see ``refusedForMs``.
    case unknown(Failure, retryAfterMs: Int64?)
    /// The recipient waits and is sent to again.
    case retry(Retry)
    /// The access token was refused: a newer one is fetched first; then as ``blockProject(_:)``.
    case refreshCredential(Failure)
    /// FCM refused the project or this recipient, and did not say which. The recipient waits; several recipients in a row
    /// block the project until an operator acts.
    case blockProject(Failure)

    /// How long every send of the project waits because of this answer, in milliseconds: FCM refused the project's
    /// quota. nil when sends may continue.
    public var holdProjectMs: Int64? {
        // The floor is the recipient's own: a Retry-After of a second holds the others for that second only.
        guard case .retry(let retry) = self, retry.scope == .project else { return nil }
        return retry.retryAfterMs ?? retry.floorMs
    }

    /// The Retry-After of a 5xx, in milliseconds; nil for any other answer. When such answers are a large
    /// share of all, Redis holds the project for the longest of them; see Pacing.
    public var refusedForMs: Int64? {
        switch self {
        case .retry(let retry) where retry.failure.isServerError && retry.cause == .answered: return retry.retryAfterMs
        case .unknown(let failure, let retryAfterMs) where failure.isServerError: return retryAfterMs
        default: return nil
        }
    }
}

/// Why and for how long a recipient waits.
public struct Retry: Equatable, Sendable {
    public enum Scope: Equatable, Sendable {
        /// This recipient only.
        case recipient
        /// Every send of the project, on every worker.
        case project
        /// Every send to this token.
        case device
        /// Every send to this topic.
        case topic
    }

    /// How far the attempt came, by which duplicates and lifetimes are judged.
    public enum Cause: Equatable, Sendable {
        /// The body never left: sending again is always safe.
        case unsent
        /// The server reported that it did not process the request.
        case refused
        /// FCM, or a front end of it, answered.
        case answered
        /// The body left, or may have, and FCM's answer did not arrive.
        case unanswered
    }

    /// Written as the result when the tries are over, unless the last attempt was ``Cause/unanswered``.
    public var failure: Failure
    public var cause: Cause
    public var scope: Scope
    /// Wait that the server asked for, in milliseconds; nil for none, or one in a form that does not count.
    public var retryAfterMs: Int64?
    /// The least wait before any jitter, in milliseconds.
    public var floorMs: Int64
    /// True when the recipient may have got the message already.
    public var mayHaveArrived: Bool
    /// False when the request certainly never left.
    public var countsAttempt: Bool
    /// All members of a device group if FCM named them and reached none: they are sent to one by one. Empty for
    /// every other retry.
    public var members: [String] = []
    /// Whether a recipient that expires within the wait has its result only then: something may end the wait before.
    public var waitsForExpiry = false

    public init(
        failure: Failure,
        cause: Cause = .answered,
        scope: Scope = .recipient,
        retryAfterMs: Int64? = nil,
        floorMs: Int64 = 10_000,
        mayHaveArrived: Bool = false,
        countsAttempt: Bool = true
    ) {
        self.failure = failure
        self.cause = cause
        self.scope = scope
        self.retryAfterMs = retryAfterMs
        self.floorMs = floorMs
        self.mayHaveArrived = mayHaveArrived
        self.countsAttempt = countsAttempt
    }
}

/// The final word on one recipient.
public enum ResultStatus: String, Equatable, Sendable, CaseIterable {
    /// Accepted by FCM; not necessarily delivered.
    case sent
    case failed
    /// Ended after an attempt without an answer.
    case unknown
    case cancelled
    case expired
}
