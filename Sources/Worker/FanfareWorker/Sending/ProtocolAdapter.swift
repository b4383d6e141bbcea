internal import CurlTransport
internal import FCMWire
internal import FanfareModel
internal import StreamWire

/// How a job's recipients travel: how many share a request, what it looks like, and what its answer says of each.
enum ProtocolAdapter {
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
    enum Route { case fcm, instanceID, xmpp }

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
    ) throws(TranslationError) -> ProtocolAdapter {
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

    var route: Route {
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
    func refusal(of recipient: SharedText, kind: RecipientKind) -> Failure? {
        guard RecipientRule.accepts(recipient, kind: kind) else {
            return Failure(error: .invalidArgument, action: .remove, rawError: "not a registration token")
        }
        guard case .topicSubscription(let operation, let topic) = self,
            !TopicSubscription.isAddressable(operation, token: recipient.string, topic: topic),
            case .failed(let failure) = TopicSubscription.unaddressable
        else { return nil }
        return failure
    }

    /// - Parameter messageID: what an ack over XMPP will name.
    func request(
        _ flight: Flight,
        credentialProject: @autoclosure () -> String,
        messageID: String,
        nowMs: Int64
    ) -> Request {
        var request = Request()
        let recipient = flight.recipient
        switch self {
        case .v1(let template):
            template.render(kind: flight.kind, recipient: recipient, nowMs: nowMs, into: &request.body)
        case .multicast(let template):
            if flight.positions.count > 1 {
                template.renderMulticast(flight.recipients, nowMs: nowMs, into: &request.body)
            } else {
                template.render(kind: flight.kind, recipient: recipient, nowMs: nowMs, into: &request.body)
            }
        case .plainText(let template): template.render(token: recipient, into: &request.body)
        case .xmpp(let template):
            template.render(kind: flight.kind, recipient: recipient, messageID: messageID, into: &request.body)
        case .topicBatch(let operation, let topic):
            request.path = TopicBatch.path(operation)
            TopicBatch.body(topic: topic, tokens: flight.names, into: &request.body)
        case .topicSubscription(let operation, let topic):
            guard
                let parts = TopicSubscription.request(
                    operation,
                    project: credentialProject(),
                    token: recipient,
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
    func verdicts(_ outcome: RequestOutcome, of flight: Flight, nowMs: Int64, atMostOnce: Bool) -> AnswerVerdicts {
        switch self {
        case .v1:
            return AnswerVerdicts(V1Response.verdict(outcome, kind: flight.kind, nowMs: nowMs, atMostOnce: atMostOnce))
        case .multicast:
            return LegacyResponse.verdicts(
                outcome,
                recipients: flight.names,
                kind: flight.kind,
                nowMs: nowMs,
                atMostOnce: atMostOnce
            )
        case .plainText:
            return AnswerVerdicts(
                PlainTextResponse.verdict(
                    outcome,
                    recipient: flight.recipient,
                    nowMs: nowMs,
                    atMostOnce: atMostOnce
                )
            )
        case .xmpp:
            return AnswerVerdicts(
                XMPPResponse.verdict(
                    outcome,
                    kind: flight.kind,
                    recipient: flight.recipient,
                    nowMs: nowMs,
                    atMostOnce: atMostOnce
                )
            )
        case .topicBatch:
            return AnswerVerdicts(TopicBatch.verdicts(outcome, tokens: flight.names, nowMs: nowMs))
        case .topicSubscription(let operation, _):
            return AnswerVerdicts(TopicSubscription.verdict(outcome, op: operation, nowMs: nowMs))
        case .group(let operation, _, let key, _):
            return AnswerVerdicts(GroupOperation.verdict(outcome, op: operation, key: key, nowMs: nowMs))
        }
    }
}
