internal import CurlTransport
internal import FCMWire
internal import FanfareModel
internal import StreamWire

/// How a job's recipients travel: how many share a request, what it looks like, and what its answer says of each.
enum Carriage {
    /// HTTP v1: a request for each recipient.
    case v1(RequestTemplate)
    /// Legacy JSON: up to a thousand tokens in a request.
    case multicast(RequestTemplate)
    case plainText(PlainTextTemplate)
    case xmpp(XMPPTemplate)
    /// Topic management through Instance ID, up to a thousand tokens in a request.
    case topicBatch(Operation, topic: String)
    /// Topic management through v1, a request for each token.
    case topicSubscription(Operation, topic: String)
    case group(Operation, name: String, key: String, members: [String])

    /// Where its requests go.
    enum Way { case fcm, instanceID, xmpp }

    init(_ spec: JobSpec, job id: String, project: WorkerConfiguration.Project) throws(TranslationError) {
        switch spec.operation {
        case .send: self = try Self.message(spec, job: id, project: project)
        case .subscribe, .unsubscribe:
            self =
                project.topicAPI == .v1
                ? .topicSubscription(spec.operation, topic: spec.subscription)
                : .topicBatch(spec.operation, topic: spec.subscription)
        case .groupCreate, .groupAdd, .groupRemove, .groupGet:
            self = .group(spec.operation, name: spec.groupName, key: spec.groupKey, members: spec.members)
        }
    }

    private static func message(
        _ spec: JobSpec,
        job id: String,
        project: WorkerConfiguration.Project
    ) throws(TranslationError) -> Carriage {
        if project.transport == .xmpp {
            return .xmpp(
                try XMPPTemplate(
                    message: spec.message,
                    format: spec.format,
                    validateOnly: spec.validateOnly,
                    delivery: spec.delivery,
                    jobID: id
                )
            )
        }
        if project.transport == .legacy, project.legacyBody == .text {
            return .plainText(
                try PlainTextTemplate(
                    message: spec.message,
                    format: spec.format,
                    validateOnly: spec.validateOnly,
                    delivery: spec.delivery,
                    jobID: id
                )
            )
        }
        let template = try RequestTemplate(
            message: spec.message,
            format: spec.format,
            transport: project.transport,
            validateOnly: spec.validateOnly,
            delivery: spec.delivery,
            jobID: id
        )
        return project.transport == .v1 ? .v1(template) : .multicast(template)
    }

    // MARK: What it needs

    /// Recipients of that kind that one request may carry.
    func most(_ kind: RecipientKind) -> Int {
        switch self {
        case .multicast where kind == .token, .topicBatch: return Batch.maximumSize
        default: return 1
        }
    }

    var way: Way {
        switch self {
        case .v1, .multicast, .plainText, .topicSubscription, .group: return .fcm
        case .topicBatch: return .instanceID
        case .xmpp: return .xmpp
        }
    }

    /// It changes what FCM knows and reaches no device, so it may be carried out twice.
    var isManagement: Bool {
        switch self {
        case .topicBatch, .topicSubscription, .group: return true
        case .v1, .multicast, .plainText, .xmpp: return false
        }
    }

    /// The message's own lifetime for a recipient that was first tried at this moment; see ``RequestTemplate``.
    func lifetimeMs(firstAttemptMs: Int64) -> Int64? {
        switch self {
        case .v1(let template), .multicast(let template): return template.lifetimeMs(firstAttemptMs: firstAttemptMs)
        case .plainText(let template): return template.lifetimeMs(firstAttemptMs: firstAttemptMs)
        case .xmpp(let template): return template.lifetimeMs(firstAttemptMs: firstAttemptMs)
        case .topicBatch, .topicSubscription, .group: return nil
        }
    }

    // MARK: There and back

    /// What is sent: as it goes to the lanes, or inside a stanza.
    struct Request {
        var method = HTTPRequest.Method.post
        /// Path and query; empty for the address of sends.
        var path = ""
        var body: [UInt8] = []

        init() {}

        init(_ parts: ManagementRequest) {
            switch parts.method {
            case .get: method = .get
            case .post: method = .post
            case .delete: method = .delete
            }
            path = parts.path
            body = parts.body
        }
    }

    /// Why a recipient cannot be sent to; nil when it can.
    func refusal(of recipient: String, kind: RecipientKind) -> Failure? {
        guard RecipientRule.accepts(recipient, kind: kind) else {
            return Failure(error: .invalidArgument, action: .remove, rawError: "not a registration token")
        }
        guard case .topicSubscription(let operation, let topic) = self,
            !TopicSubscription.isAddressable(operation, token: recipient, topic: topic),
            case .failed(let failure) = TopicSubscription.unaddressable
        else { return nil }
        return failure
    }

    /// - Parameter messageID: what an ack over XMPP will name.
    func request(
        _ recipients: [String],
        kind: RecipientKind,
        credentialProject: String,
        messageID: String,
        nowMs: Int64
    ) -> Request {
        var request = Request()
        switch self {
        case .v1(let template):
            template.render(kind: kind, recipient: recipients[0], nowMs: nowMs, into: &request.body)
        case .multicast(let template):
            if recipients.count > 1 {
                template.renderMulticast(recipients, nowMs: nowMs, into: &request.body)
            } else {
                template.render(kind: kind, recipient: recipients[0], nowMs: nowMs, into: &request.body)
            }
        case .plainText(let template): template.render(token: recipients[0], into: &request.body)
        case .xmpp(let template):
            template.render(kind: kind, recipient: recipients[0], messageID: messageID, into: &request.body)
        case .topicBatch(let operation, let topic):
            request.path = TopicBatch.path(operation)
            TopicBatch.body(topic: topic, tokens: recipients, into: &request.body)
        case .topicSubscription(let operation, let topic):
            guard
                let parts = TopicSubscription.request(
                    operation,
                    project: credentialProject,
                    token: recipients[0],
                    topic: topic
                )
            else { preconditionFailure("refusal() was asked first, and a project has no name of dots") }
            request = Request(parts)
        case .group(let operation, let name, let key, let members):
            let parts = GroupOperation.request(operation, name: name, key: key, tokens: members)
            request = Request(parts)
        }
        return request
    }

    /// One verdict for each recipient of the request, in its order.
    func verdicts(
        _ outcome: RequestOutcome,
        recipients: [String],
        kind: RecipientKind,
        nowMs: Int64,
        atMostOnce: Bool
    ) -> [Verdict] {
        switch self {
        case .v1:
            let verdict = V1Response.verdict(outcome, kind: kind, nowMs: nowMs, atMostOnce: atMostOnce)
            return recipients.map { _ in verdict }
        case .multicast:
            return LegacyResponse.verdicts(
                outcome,
                recipients: recipients,
                kind: kind,
                nowMs: nowMs,
                atMostOnce: atMostOnce
            )
        case .plainText:
            return recipients.map {
                PlainTextResponse.verdict(outcome, recipient: $0, nowMs: nowMs, atMostOnce: atMostOnce)
            }
        case .xmpp:
            return recipients.map {
                XMPPResponse.verdict(outcome, kind: kind, recipient: $0, nowMs: nowMs, atMostOnce: atMostOnce)
            }
        case .topicBatch: return TopicBatch.verdicts(outcome, tokens: recipients, nowMs: nowMs)
        case .topicSubscription(let operation, _):
            return recipients.map { _ in TopicSubscription.verdict(outcome, op: operation, nowMs: nowMs) }
        case .group(let operation, _, let key, _):
            return recipients.map { _ in GroupOperation.verdict(outcome, op: operation, key: key, nowMs: nowMs) }
        }
    }
}
