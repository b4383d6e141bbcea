/// The first rule that the body of a request to HTTP v1 breaks. It becomes a 400 with a `BadRequest`.
public struct V1Fault: Error, Equatable, Sendable {
    /// The place in the body, such as `message.android.ttl`, or the name of a header; empty for the body as a whole.
    public let path: String
    /// The rule, such as `5012 bytes, at most 4096`.
    public let rule: String
    /// The sentence for people, FCM's own where it is known.
    public let message: String
    /// The request has not the shape that FCM reads. FCM answers such a request without `FcmError`.
    let isOfShape: Bool

    init(_ path: String, _ rule: String, message: String? = nil, isOfShape: Bool) {
        (self.path, self.rule, self.isOfShape) = (path, rule, isOfShape)
        self.message = message ?? (path.isEmpty ? rule : "\(path): \(rule)")
    }

    /// A fault of the request's shape, or of a header that the gateway reads.
    public init(shape path: String, _ rule: String) { self.init(path, rule, isOfShape: true) }

    /// A rule of jobs, as `EntryCheck` names it.
    public init(_ fault: EntryFault) { self.init(Self.path(ofField: fault.path), fault.rule, isOfShape: false) }

    /// The reason for which a worker rejected a job: `path: rule` (contract 2).
    public init(problem: String) {
        guard let colon = problem.firstRange(of: ": ") else {
            self.init("", problem, isOfShape: false)
            return
        }
        let field = String(problem[..<colon.lowerBound])
        self.init(Self.path(ofField: field), String(problem[colon.upperBound...]), isOfShape: false)
    }

    /// The place in the body of what is a field of an entry.
    ///
    /// A fault at `fid` is the transport's: ``V1Request`` has checked the recipient. Clients forget a recipient that
    /// `message.token` or `message.fid` blames, so this fault keeps the field's name.
    private static func path(ofField field: String) -> String {
        ["token", "topic", "condition"].contains(field) ? "message.\(field)" : field
    }
}

extension V1Fault {
    /// FCM's answer to a message without a target (captured; `fcm-facts.md` 2.10).
    static let noRecipient = V1Fault(
        "message",
        "Recipient of the message is not set.",
        message: "Recipient of the message is not set.",
        isOfShape: false
    )

    /// FCM's answer to a text that no token has (`fcm-facts.md` 2.10). PHP's SDK knows a bad token by this sentence.
    static let badTokenMessage = "The registration token is not a valid FCM registration token"

    static func badRecipient(_ path: String, _ rule: String) -> V1Fault {
        V1Fault(path, rule, message: badTokenMessage, isOfShape: false)
    }
}
