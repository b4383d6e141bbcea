internal import FCMWire
internal import FanfareModel

/// One way to send: its requests, and what their answers mean. An instance holds what is prepared once for a job.
///
/// A class, so that a send passes on a reference and not a template of hundreds of bytes.
protocol WireProtocol: AnyObject, Sendable {
    /// Where its requests go.
    var route: Route { get }
    /// Whether it changes what FCM knows and reaches no device, so that it may be carried out twice.
    var isManagement: Bool { get }
    /// Tokens that one request may carry. Recipients of other kinds travel alone.
    var maximumTokens: Int { get }

    /// The message's own lifetime; nil when it sets none.
    ///
    /// - Parameter element: of a personal job's recipient, by whose variant the message is chosen.
    func lifetime(of element: PersonalElement?) -> MessageLifetime?

    /// Why a recipient cannot be sent to; nil if it can. Intake checked the recipients of a job, but not the members of
    /// an audience.
    func failure(of recipient: HeldRecipient, kind: RecipientKind) -> Failure?

    /// The request for recipients that ``failure(of:kind:)`` lets pass.
    func request(_ recipients: RequestRecipients, _ attempt: Attempt) -> WireRequest

    /// Appends a verdict for each recipient of the request, in the request's order.
    ///
    /// - Parameter recipients: called only where the answer's meaning depends on their names.
    func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    )

    /// What an answer leaves to be asked for by another request; nil if it is the last.
    func continuation(after outcome: RequestOutcome, _ earlier: TopicListing?) -> TopicListing?
}

extension WireProtocol {
    var maximumTokens: Int { 1 }

    func lifetime(of element: PersonalElement?) -> MessageLifetime? { nil }

    @inline(__always)
    func failure(of recipient: HeldRecipient, kind: RecipientKind) -> Failure? {
        RequestRecipients.failure(of: recipient.name, kind: kind)
    }

    func continuation(after outcome: RequestOutcome, _ earlier: TopicListing?) -> TopicListing? { nil }
}

/// The protocol of messages over one transport: what a personal message shares with one that is equal for all.
protocol MessageProtocol: WireProtocol {
    /// That of the transport's row.
    static var route: Route { get }
    static var headers: HeaderSet { get }

    /// Gives a request what its answer will name, where the answer comes on a connection of many requests.
    static func address(_ request: inout WireRequest, _ recipients: RequestRecipients, _ attempt: Attempt)

    static func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    )
}

extension MessageProtocol {
    var route: Route { Self.route }
    var isManagement: Bool { false }

    static var headers: HeaderSet { .json }

    static func address(_ request: inout WireRequest, _ recipients: RequestRecipients, _ attempt: Attempt) {}

    func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    ) { Self.judge(outcome, of: recipients, terms, into: &verdicts) }
}

/// What a request needs besides its recipients.
struct Attempt {
    /// The job's id.
    var job: String
    /// The first recipient's index in the job.
    var index: Int
    /// Attempts at it that counted before.
    var number: Int
    /// A number that no other request has.
    var nonce: UInt64
    /// The project of the credential, which the paths of subscriptions name.
    var credentialProject: String
    /// Unix milliseconds.
    var nowMs: Int64
}

/// What a verdict depends on besides the answer.
struct JudgementTerms {
    var kind: RecipientKind
    /// Unix milliseconds, for a Retry-After date.
    var nowMs: Int64
    var atMostOnce: Bool
}

/// The recipients that one request names.
struct RequestRecipients {
    var kind: RecipientKind
    /// The first of them.
    var name: String
    /// All of them; empty for a single one.
    var texts: [SharedText] = []
    /// Of a personal job's recipient.
    var element: PersonalElement?
    /// The answers to earlier requests, where one request does not get the whole.
    var continuation: TopicListing?

    var count: Int { max(1, texts.count) }
    var names: [String] { texts.isEmpty ? [name] : texts.map(\.string) }

    static let notAToken = Failure(error: .invalidArgument, action: .remove, rawError: "not a registration token")

    /// Why a recipient has no name that a request could carry; nil if it has.
    static func failure(of name: SharedText, kind: RecipientKind) -> Failure? {
        let isToken = kind == .token || kind == .fid
        return (isToken ? RecipientRules.isToken(name) : name.count > 0) ? nil : notAToken
    }
}
