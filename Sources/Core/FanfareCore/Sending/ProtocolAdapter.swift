public import FCMWire
public import FanfareModel
public import StreamWire

/// The project's settings that choose a protocol.
public struct ProtocolSettings: Equatable, Sendable {
    public var transport: Transport
    public var legacyBody: LegacyBody
    public var topicAPI: TopicAPI

    public init(transport: Transport = .v1, legacyBody: LegacyBody = .json, topicAPI: TopicAPI = .iid) {
        self.transport = transport
        self.legacyBody = legacyBody
        self.topicAPI = topicAPI
    }
}

/// The protocol of one job: how many recipients share a request, the request's bytes, and a verdict on each recipient of
/// an answer. `indirect`, because every send passes it on: its templates are hundreds of bytes.
public indirect enum ProtocolAdapter: Sendable {
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
    /// The topics of each token through v1, page by page.
    case topicList
    case group(Operation, name: String, key: String, members: [String])
    /// A message for each recipient, a request each.
    case personal(PersonalSends)

    /// The answers so far about one recipient, where one request does not get the whole.
    public typealias Continuation = TopicListing

    /// Where its requests go.
    public enum Route: Sendable { case fcm, instanceID, xmpp }

    /// Which request headers it needs.
    public enum Headers: Sendable { case json, form, management }

    /// FCM's limit of members of a device group.
    static let mostGroupMembers = GroupOperation.maximumMembers

    public init(_ spec: JobSpec, job id: String, settings: ProtocolSettings) throws(TranslationError) {
        switch spec.operation {
        case .send: self = try Self.message(spec, job: id, settings)
        case .subscribe, .unsubscribe:
            self =
                settings.topicAPI == .v1
                ? .topicSubscription(spec.operation, topic: spec.subscription)
                : .topicBatch(spec.operation, topic: spec.subscription)
        case .topicList:
            guard settings.topicAPI == .v1 else {
                let remedy = "set it in the project's configuration, this project's is \(settings.topicAPI.rawValue)"
                throw TranslationError(reason: "op: topic.list needs topic_api: v1; \(remedy)")
            }
            self = .topicList
        case .groupCreate, .groupAdd, .groupRemove, .groupGet:
            self = .group(spec.operation, name: spec.groupName, key: spec.groupKey, members: spec.members)
        }
    }

    private static func message(
        _ spec: JobSpec,
        job id: String,
        _ settings: ProtocolSettings
    ) throws(TranslationError) -> ProtocolAdapter {
        // Intake checks this for the transport that the project had then.
        if spec.kind == .fid, settings.transport != .v1 {
            throw TranslationError(
                reason: "fid: only with the v1 transport, this project's is \(settings.transport.rawValue)"
            )
        }
        if settings.transport == .legacy, settings.legacyBody == .text, spec.kind != .token {
            throw TranslationError(reason: "\(spec.kind.rawValue): \(SchemaChecker.hasNoPlainText)")
        }
        if spec.isPersonal { return .personal(try PersonalSends(spec, job: id, settings)) }
        let source = try SourceMessage(
            spec.message,
            format: spec.format,
            validateOnly: spec.validateOnly,
            delivery: spec.delivery,
            jobID: id
        )
        switch (settings.transport, settings.legacyBody) {
        case (.xmpp, _): return .xmpp(try XMPPTemplate(source))
        case (.legacy, .text): return .plainText(try PlainTextTemplate(source))
        case (.v1, _), (.legacy, .json):
            let template = try RequestTemplate(source, transport: settings.transport)
            return settings.transport == .v1 ? .v1(template) : .multicast(template)
        }
    }

    // MARK: Needs

    /// Recipients of that kind that one request may carry.
    public func most(_ kind: RecipientKind) -> Int {
        switch self {
        case .multicast where kind == .token, .topicBatch: return Batch.maximumSize
        default: return 1
        }
    }

    public var route: Route {
        switch self {
        case .v1, .multicast, .plainText, .topicSubscription, .topicList, .group: return .fcm
        case .topicBatch: return .instanceID
        case .xmpp: return .xmpp
        case .personal(let sends): return sends.form == .xmpp ? .xmpp : .fcm
        }
    }

    public var headers: Headers {
        switch self {
        case .v1, .multicast, .xmpp: .json
        case .plainText: .form
        case .personal(let sends): sends.form == .plainText ? .form : .json
        case .topicBatch, .topicSubscription, .topicList, .group: .management
        }
    }

    /// Whether it changes what FCM knows and reaches no device, so that it may be carried out twice.
    public var isManagement: Bool {
        switch self {
        case .topicBatch, .topicSubscription, .topicList, .group: return true
        case .v1, .multicast, .plainText, .xmpp, .personal: return false
        }
    }

    /// The message's own lifetime in milliseconds for a recipient whose first attempt was at this Unix time in
    /// milliseconds; nil when it sets none.
    ///
    /// - Parameter element: of a personal job's recipient, by whose variant the message is chosen.
    public func lifetimeMs(firstAttemptMs: Int64, element: SharedText? = nil) -> Int64? {
        let lifetime: MessageLifetime? =
            switch self {
            case .v1(let template), .multicast(let template): template.lifetime
            case .plainText(let template): template.lifetime
            case .xmpp(let template): template.lifetime
            case .personal(let sends): sends.lifetime(of: element)
            case .topicBatch, .topicSubscription, .topicList, .group: nil
            }
        return lifetime?.milliseconds(firstAttemptMs: firstAttemptMs)
    }

    // MARK: Requests and answers

    /// The recipients that one request names.
    public struct Recipients {
        var kind: RecipientKind
        /// The first of them.
        var name: String
        /// All of them; empty for a single one.
        var texts: [SharedText] = []
        /// The JSON object of a personal job's recipient.
        var element: SharedText?
        /// The answers to earlier requests, where one request does not get the whole.
        var continuation: Continuation?

        var count: Int { max(1, texts.count) }
        var names: [String] { texts.isEmpty ? [name] : texts.map(\.string) }

        /// The name in an answer over XMPP; empty for a condition, which no answer names.
        var nameInAnswer: String {
            switch kind {
            case .token, .fid, .group: name
            case .topic: "/topics/" + name
            case .condition: ""
            }
        }
    }

    /// Why a recipient cannot be sent to; nil if it can. Intake checked the recipients of a job, but not those of an
    /// audience.
    @inline(__always)
    func refusal(of recipient: ClaimedRecipient, kind: RecipientKind) -> Failure? {
        if case .personal(let sends) = self { return sends.refusal(of: recipient.stored) }
        return refusal(of: recipient.text, kind: kind)
    }

    private func refusal(of recipient: SharedText, kind: RecipientKind) -> Failure? {
        let isToken = kind == .token || kind == .fid
        guard isToken ? RecipientRules.isToken(recipient) : recipient.count > 0 else {
            return PersonalSends.notAToken
        }
        let isAddressable =
            switch self {
            case .topicSubscription(let operation, let topic):
                TopicSubscription.isAddressable(operation, token: recipient.string, topic: topic)
            case .topicList: TopicSubscription.isAddressable(.topicList, token: recipient.string, topic: "")
            default: true
            }
        guard !isAddressable, case .failed(let failure) = TopicSubscription.unaddressable else { return nil }
        return failure
    }

    /// - Parameters:
    ///   - credentialProject: the project that the path of a subscription names.
    ///   - messageID: the id that an ack over XMPP will name.
    ///   - nowMs: Unix milliseconds.
    func request(_ recipients: Recipients, credentialProject: String, messageID: String, nowMs: Int64) -> FCMRequest {
        var request = FCMRequest(method: .post, path: "")
        let (kind, name) = (recipients.kind, recipients.name)
        switch self {
        case .multicast(let template) where recipients.count > 1:
            template.renderMulticast(recipients.texts, nowMs: nowMs, into: &request.body)
        case .v1(let template), .multicast(let template):
            template.render(kind: kind, recipient: name, nowMs: nowMs, into: &request.body)
        case .plainText(let template): template.render(token: name, into: &request.body)
        case .xmpp(let template):
            template.render(kind: kind, recipient: name, messageID: messageID, into: &request.body)
        case .personal(let sends):
            guard let element = recipients.element else { preconditionFailure("a personal recipient has its element") }
            sends.render(element, messageID: messageID, nowMs: nowMs, into: &request.body)
        case .topicBatch(let operation, let topic):
            request.path = TopicBatch.path(operation)
            TopicBatch.body(topic: topic, tokens: recipients.names, into: &request.body)
        case .topicSubscription(let operation, let topic):
            let parts = TopicSubscription.request(operation, project: credentialProject, token: name, topic: topic)
            guard let parts else {
                preconditionFailure("refusal() was asked first, and a project has no name of dots")
            }
            request = parts
        case .topicList:
            let listing = recipients.continuation ?? Continuation()
            guard let parts = listing.request(project: credentialProject, token: name) else {
                preconditionFailure("refusal() was asked first, and a project has no name of dots")
            }
            request = parts
        case .group(let operation, let groupName, let key, let members):
            request = GroupOperation.request(operation, name: groupName, key: key, tokens: members)
        }
        return request
    }

    /// Replaces `verdicts` by one verdict for each recipient of the request, in the request's order.
    func judge(
        _ outcome: RequestOutcome,
        of recipients: @autoclosure () -> Recipients,
        kind: RecipientKind,
        nowMs: Int64,
        atMostOnce: Bool,
        into verdicts: inout [Verdict]
    ) {
        verdicts.removeAll(keepingCapacity: true)
        if let form = messageForm {
            return form.judge(
                outcome,
                of: recipients,
                kind: kind,
                nowMs: nowMs,
                atMostOnce: atMostOnce,
                into: &verdicts
            )
        }
        switch self {
        case .v1, .multicast, .plainText, .xmpp, .personal: break
        case .topicBatch:
            verdicts.append(contentsOf: TopicBatch.verdicts(outcome, tokens: recipients().names, nowMs: nowMs))
        case .topicSubscription(let operation, _):
            verdicts.append(TopicSubscription.verdict(outcome, op: operation, nowMs: nowMs))
        case .topicList:
            let listing = recipients().continuation ?? Continuation()
            verdicts.append(listing.verdict(outcome, nowMs: nowMs))
        case .group(let operation, _, let key, _):
            verdicts.append(GroupOperation.verdict(outcome, op: operation, key: key, nowMs: nowMs))
        }
    }

    /// What an answer leaves to be asked for by another request; nil if it is the last.
    func continuation(after outcome: RequestOutcome, _ earlier: Continuation?) -> Continuation? {
        guard case .topicList = self else { return nil }
        return (earlier ?? Continuation()).continuation(after: outcome)
    }

    /// The form of the answers to messages; nil for operations.
    private var messageForm: MessageForm? {
        switch self {
        case .v1: .v1
        case .multicast: .multicast
        case .plainText: .plainText
        case .xmpp: .xmpp
        case .personal(let sends): sends.form
        case .topicBatch, .topicSubscription, .topicList, .group: nil
        }
    }

    /// The meaning of a verdict on a group operation that an earlier attempt may have carried out.
    static func afterDoubt(_ verdict: Verdict, _ spec: JobSpec) -> Verdict {
        GroupOperation.afterDoubt(verdict, op: spec.operation, key: spec.groupKey)
    }
}
