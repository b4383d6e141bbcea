/// Outcome of one request on the wire, before it is judged. Each class is decided by proof, never by a return code
/// alone; see "Outcome classes" on the page "Guarantees".
public enum RequestOutcome: Equatable, Sendable {
    /// The request certainly did not leave: its body was never read. Sending again is safe and counts no attempt.
    case unsent(reason: Reason)
    /// The server said that it did not process the request (REFUSED_STREAM, GOAWAY above the last id).
    case refused(reason: Reason)
    /// The body went out, or may have, and no answer came.
    case ambiguous(reason: Reason)
    /// A status and headers arrived.
    case answered(HTTPAnswer)
    /// The JSON of an ack or a nack, as an XMPP stanza carried it.
    case stanza([UInt8])

    /// FCM, or a front end of it, answered, whatever it said.
    public var isAnswer: Bool {
        switch self {
        case .answered, .stanza: true
        case .unsent, .refused, .ambiguous: false
        }
    }

    /// Bytes of the answer's body.
    public var bodyBytes: Int {
        if case .answered(let answer) = self { answer.body.count } else { 0 }
    }

    /// A status and headers arrived, and not the whole body.
    public var isCut: Bool {
        if case .answered(let answer) = self { !answer.isComplete } else { false }
    }
}

/// An HTTP answer, in whatever shape it arrived.
public struct HTTPAnswer: Equatable, Sendable {
    public var status: Int
    public var body: [UInt8]
    /// False when the body was cut short, reset, or longer than the limit.
    public var isComplete: Bool
    public var contentType: String?
    public var retryAfter: String?
    public var date: String?
    /// The header by which Google's metadata server names itself; read only where a request asks for it.
    public var metadataFlavor: String?

    public init(
        status: Int,
        body: [UInt8] = [],
        isComplete: Bool = true,
        contentType: String? = nil,
        retryAfter: String? = nil,
        date: String? = nil,
        metadataFlavor: String? = nil
    ) {
        self.status = status
        self.body = body
        self.isComplete = isComplete
        self.contentType = contentType
        self.retryAfter = retryAfter
        self.date = date
        self.metadataFlavor = metadataFlavor
    }
}

/// A worker's report of FCM's answers, sent with its next claim; a multicast counts as one answer.
public struct AnswerReport: Equatable, Sendable {
    /// Answers since the last claim that Redis confirmed.
    public var answers: Int
    /// Answers among them that were a 5xx with Retry-After.
    public var refused: Int
    /// Answers among them that accepted no recipient because FCM had too much to do or failed.
    public var failing: Int
    /// How long the longest of those still has to wait, in milliseconds.
    public var retryAfterMs: Int64
    /// How long ago the first of the answers came, in milliseconds.
    public var spanMs: Int64

    public init(answers: Int = 0, refused: Int = 0, failing: Int = 0, retryAfterMs: Int64 = 0, spanMs: Int64 = 0) {
        self.answers = answers
        self.refused = refused
        self.failing = failing
        self.retryAfterMs = retryAfterMs
        self.spanMs = spanMs
    }
}
