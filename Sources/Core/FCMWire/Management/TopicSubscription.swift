public import FanfareModel

/// Topic management by the v1 API: one token and one topic a request.
public enum TopicSubscription {
    /// Whether a request can name token and topic. A name of dots alone cannot go into the path: however it is escaped,
    /// it reads as a step up or as nothing. The verdict is then ``unaddressable``.
    public static func isAddressable(_ op: Operation, token: String, topic: String) -> Bool {
        !isDots(token) && (op != .unsubscribe || !isDots(topic))
    }

    /// Nil for a name that is not addressable, the project's included.
    ///
    /// - Parameters:
    ///   - op: subscribe or unsubscribe.
    ///   - project: the project's id or number.
    ///   - topic: bare, without `/topics/`.
    public static func request(
        _ op: Operation,
        project: String,
        token: String,
        topic: String
    ) -> WireRequest? {
        guard let path = path(project: project, token: token), isAddressable(op, token: token, topic: topic) else {
            return nil
        }
        if op == .subscribe {
            let query = "?topicName=\(topic.percentEncoded)"
            return WireRequest(method: .post, path: path + query, headers: .management, body: Array("{}".utf8))
        }
        return WireRequest(
            method: .delete,
            path: "\(path)/\(topic.percentEncoded)?allowMissing=true",
            headers: .management
        )
    }

    /// The path of a token's subscriptions; nil for a name that is not addressable.
    static func path(project: String, token: String) -> String? {
        guard !isDots(project), !isDots(token) else { return nil }
        return "/v1/projects/\(project.percentEncoded)/registrations/\(token.percentEncoded)/topicSubscriptions"
    }

    public static let unaddressable = Verdict.failed(
        Failure(error: .invalidArgument, action: .fixMessage, rawError: "a name of dots alone")
    )

    /// Success is `sent` with an empty id; so is a subscription that exists already, or one to be ended that does not.
    /// The limit of topics is judged as over the Instance ID service. Other answers are judged as for a send, by
    /// `FcmError` first, except that an unknown outcome is retried.
    ///
    /// - Parameter nowMs: Unix milliseconds, for a Retry-After date.
    public static func verdict(_ outcome: RequestOutcome, op: Operation, nowMs: Int64) -> Verdict {
        let shared = ManagementVerdicts(family: .v1, canRefresh: true)
        guard case .answered(let answer) = outcome else { return shared.withoutAnswer(outcome) }
        switch answer.status {
        case 200:
            if case .foreign = AnswerBody(answer) { return shared.unclear("not FCM's answer", httpStatus: 200) }
            return .sent(messageID: "", canonical: nil)
        case 404 where op == .unsubscribe, 409 where op == .subscribe:
            let envelope = V1ErrorEnvelope(answer.body)
            let wanted = answer.status == 404 ? "NOT_FOUND" : "ALREADY_EXISTS"
            if envelope?.status == wanted, envelope?.fcmCode == nil { return .sent(messageID: "", canonical: nil) }
        case 400...499 where V1ErrorEnvelope(answer.body)?.reasons.contains(tooMany) == true:
            // There is no FcmError here, and the status alone would blame the message.
            let row = CodeTable.known(.instanceID, tooMany)
            return shared.verdict(row, rawError: tooMany, httpStatus: answer.status)
        default: break
        }
        return verdict(ofRefused: outcome, nowMs: nowMs)
    }

    /// The verdict on every outcome but a success of the API.
    static func verdict(ofRefused outcome: RequestOutcome, nowMs: Int64) -> Verdict {
        let shared = ManagementVerdicts(family: .v1, canRefresh: true)
        guard case .answered = outcome else { return shared.withoutAnswer(outcome) }
        let verdict = V1Response.verdict(outcome, kind: .token, nowMs: nowMs, atMostOnce: false)
        switch verdict {
        case .blockProject, .refreshCredential: return shared.refused(verdict)
        default: break
        }
        guard case .retry(var retry) = verdict else { return verdict }
        retry.mayHaveArrived = false
        // The quota of management is not that of sends, which continue.
        if retry.scope == .project { retry.scope = .recipient }
        return .retry(retry)
    }

    /// The Instance ID service's code; here it is the reason of `ErrorInfo`.
    private static let tooMany = "TOO_MANY_TOPICS"

    private static func isDots(_ name: String) -> Bool {
        name == "." || name == ".."
    }
}
