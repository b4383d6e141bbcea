internal import FCMWire
internal import FanfareModel

/// Topic management through v1, a request for each token.
final class TopicSubscriptionProtocol: WireProtocol {
    private let operation: Operation
    private let topic: String

    init(_ operation: Operation, topic: String) {
        self.operation = operation
        self.topic = topic
    }

    var route: Route { .fcm }
    var isManagement: Bool { true }

    func failure(of recipient: HeldRecipient, kind: RecipientKind) -> Failure? {
        TopicSubscription.failure(of: recipient, kind: kind, operation, topic: topic)
    }

    func request(_ recipients: RequestRecipients, _ attempt: Attempt) -> WireRequest {
        let request = TopicSubscription.request(
            operation,
            project: attempt.credentialProject,
            token: recipients.name,
            topic: topic
        )
        guard let request else { preconditionFailure("failure() was asked first, and a project has no name of dots") }
        return request
    }

    func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    ) { verdicts.append(TopicSubscription.verdict(outcome, op: operation, nowMs: terms.nowMs)) }
}

/// The topics of each token through v1, page by page.
final class TopicListProtocol: WireProtocol {
    var route: Route { .fcm }
    var isManagement: Bool { true }

    func failure(of recipient: HeldRecipient, kind: RecipientKind) -> Failure? {
        TopicSubscription.failure(of: recipient, kind: kind, .topicList, topic: "")
    }

    func request(_ recipients: RequestRecipients, _ attempt: Attempt) -> WireRequest {
        let listing = recipients.continuation ?? TopicListing()
        guard let request = listing.request(project: attempt.credentialProject, token: recipients.name) else {
            preconditionFailure("failure() was asked first, and a project has no name of dots")
        }
        return request
    }

    func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    ) { verdicts.append((recipients().continuation ?? TopicListing()).verdict(outcome, nowMs: terms.nowMs)) }

    func continuation(after outcome: RequestOutcome, _ earlier: TopicListing?) -> TopicListing? {
        (earlier ?? TopicListing()).continuation(after: outcome)
    }
}

extension TopicSubscription {
    /// Why a path cannot name a recipient; nil if it can.
    fileprivate static func failure(
        of recipient: HeldRecipient,
        kind: RecipientKind,
        _ operation: Operation,
        topic: String
    ) -> Failure? {
        if let failure = RequestRecipients.failure(of: recipient.name, kind: kind) { return failure }
        let isAddressable = isAddressable(operation, token: recipient.name.string, topic: topic)
        guard !isAddressable, case .failed(let failure) = unaddressable else { return nil }
        return failure
    }
}
