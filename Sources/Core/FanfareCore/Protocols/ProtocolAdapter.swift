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

    public var traits: TransportTraits { transport.traits(body: legacyBody) }

    /// The protocol of messages that are equal for all recipients.
    fileprivate func message(_ source: SourceMessage) throws(TranslationError) -> ProtocolAdapter.Choice {
        switch (transport, legacyBody) {
        case (.v1, _): .v1(try V1Protocol(source))
        case (.legacy, .json): .multicast(try MulticastProtocol(source))
        case (.legacy, .text): .plainText(try PlainTextProtocol(source))
        case (.xmpp, _): .xmpp(try XMPPProtocol(source))
        }
    }

    /// The type of ``message(_:)``.
    var messageProtocol: any MessageProtocol.Type {
        switch (transport, legacyBody) {
        case (.v1, _): V1Protocol.self
        case (.legacy, .json): MulticastProtocol.self
        case (.legacy, .text): PlainTextProtocol.self
        case (.xmpp, _): XMPPProtocol.self
        }
    }
}

/// The protocol of one job: a ``WireProtocol``, chosen once.
public struct ProtocolAdapter: Sendable {
    enum Choice: Sendable {
        case v1(V1Protocol)
        case multicast(MulticastProtocol)
        case plainText(PlainTextProtocol)
        case xmpp(XMPPProtocol)
        case topicBatch(TopicBatchProtocol)
        case topicSubscription(TopicSubscriptionProtocol)
        case topicList(TopicListProtocol)
        case group(GroupProtocol)
        /// A message for each recipient.
        case personal(PersonalProtocol)
        /// Any other. The cases above are there so that the compiler knows what each send calls.
        case other(any WireProtocol)
    }

    let choice: Choice

    init(_ choice: Choice) { self.choice = choice }

    public init(_ spec: JobSpec, job id: String, settings: ProtocolSettings) throws(TranslationError) {
        let (operation, topic) = (spec.operation, spec.subscription)
        // Intake checks this for the transport that the project had then.
        if let rule = settings.traits.fault(of: operation) { throw TranslationError(path: "op", rule: rule) }
        switch operation {
        case .send: choice = try Self.message(spec, job: id, settings)
        case .subscribe, .unsubscribe:
            choice =
                settings.topicAPI == .v1
                ? .topicSubscription(TopicSubscriptionProtocol(operation, topic: topic))
                : .topicBatch(TopicBatchProtocol(operation, topic: topic))
        case .topicList:
            guard settings.topicAPI == .v1 else {
                let remedy = "set it in the project's configuration, this project's is \(settings.topicAPI.rawValue)"
                throw TranslationError(path: "op", rule: "topic.list needs topic_api: v1; \(remedy)")
            }
            choice = .topicList(TopicListProtocol())
        case .groupCreate, .groupAdd, .groupRemove, .groupGet:
            let members = spec.members
            choice = .group(GroupProtocol(operation, name: spec.groupName, key: spec.groupKey, members: members))
        }
    }

    private static func message(
        _ spec: JobSpec,
        job id: String,
        _ settings: ProtocolSettings
    ) throws(TranslationError) -> Choice {
        if let rule = settings.traits.fault(of: spec.kind) {
            throw TranslationError(path: spec.kind.rawValue, rule: rule)
        }
        if spec.isPersonal { return .personal(PersonalProtocol(try PersonalSends(spec, job: id, settings), settings)) }
        return try settings.message(
            try SourceMessage(
                spec.message,
                format: spec.format,
                validateOnly: spec.validateOnly,
                delivery: spec.delivery,
                jobID: id
            )
        )
    }

    /// Asks the protocol. Inlined, so that the compiler knows which one it is in each case.
    @inline(__always)
    func ask<Answer>(_ question: (any WireProtocol) -> Answer) -> Answer {
        switch choice {
        case .v1(let wire): question(wire)
        case .multicast(let wire): question(wire)
        case .plainText(let wire): question(wire)
        case .xmpp(let wire): question(wire)
        case .topicBatch(let wire): question(wire)
        case .topicSubscription(let wire): question(wire)
        case .topicList(let wire): question(wire)
        case .group(let wire): question(wire)
        case .personal(let wire): question(wire)
        case .other(let wire): question(wire)
        }
    }

    /// Where its requests go.
    @inline(__always) var route: Route { ask { $0.route } }

    @inline(__always) var isManagement: Bool { ask { $0.isManagement } }

    /// Recipients of that kind that one request may carry.
    @inline(__always)
    func most(_ kind: RecipientKind) -> Int { kind == .token ? ask { $0.maximumTokens } : 1 }

    /// The message's own lifetime in milliseconds for a recipient whose first attempt was at this Unix time in
    /// milliseconds; nil when it sets none.
    func lifetimeMs(firstAttemptMs: Int64, element: PersonalElement? = nil) -> Int64? {
        ask { $0.lifetime(of: element) }?.milliseconds(firstAttemptMs: firstAttemptMs)
    }

    /// Replaces `verdicts` by one verdict for each recipient of the request, in the request's order.
    @inline(__always)
    func judge(
        _ outcome: RequestOutcome,
        of recipients: @autoclosure () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    ) {
        verdicts.removeAll(keepingCapacity: true)
        ask { $0.judge(outcome, of: recipients, terms, into: &verdicts) }
    }

    /// The meaning of a verdict on a group operation that an earlier attempt may have carried out.
    static func afterDoubt(_ verdict: Verdict, _ spec: JobSpec) -> Verdict {
        GroupOperation.afterDoubt(verdict, op: spec.operation, key: spec.groupKey)
    }
}
