import FCMSimulator
import FCMWire
import FanfareCore
import FanfareJSON
import FanfareModel
import Testing

/// Both ends of the wire in one process, with a clock that a test moves. A job is validated and becomes a request, the
/// simulator answers it, and the answer is judged.
///
/// A scenario and the page Statements cite each other. ``StatementsTests`` reads both as text and checks it:
/// - The display name of a test begins with its statements, such as `A47 A56: a lifetime that is not given …`.
/// - The row of each of these statements names the test as `Suite/function`, such as `AboutMessages/defaultLifetime`.
/// - A new statement gets the next number of its document's letter, and a test or a reason why it has none.
struct Scene {
    /// The protocol of a send.
    enum Carrier: CaseIterable { case v1, legacy, plainText, xmpp }

    /// Intake refused the job.
    struct Rejected: Error, Equatable {
        var reason: String
    }

    static let project = SimulatedProject(
        id: "demo",
        senderID: "1234567890",
        serverKey: "AAAAserver:APA91bDemo",
        serviceAccountEmail: "sender@demo.example"
    )
    static let other = SimulatedProject(
        id: "other",
        senderID: "9876543210",
        serverKey: "AAAAserver:APA91bOther",
        serviceAccountEmail: "sender@other.example"
    )
    static let tokenURI = "https://oauth2.example/token"

    var simulator: Simulator
    var nowMs: Int64 = 1_800_000_000_000
    var accessToken = ""
    /// The latest answer.
    var reply = SimulatorReply(status: 0)
    /// The open XMPP connections, by their number.
    var lines: [UInt64: XMPPLine] = [:]
    /// Messages sent over XMPP.
    var messageCount = 0

    init(fanoutRate: Int = 10_000, defersFanouts: Bool = false, bareErrors: Bool = false) throws {
        var configuration = SimulatorConfiguration(projects: [Self.project, Self.other])
        configuration.bareErrors = bareErrors
        configuration.fanoutRate = fanoutRate
        configuration.defersFanouts = defersFanouts
        configuration.tokenAudiences = [Self.tokenURI]
        simulator = Simulator(configuration: configuration)
        accessToken = try requestToken(for: Self.project).value
    }

    /// Moves the clock. The worker renews its access token before it expires.
    mutating func advance(ms: Int64) {
        nowMs += ms
        if let token = try? requestToken(for: Self.project) { accessToken = token.value }
    }

    // MARK: Credentials

    mutating func requestToken(for project: SimulatedProject, isSigned: Bool = true) throws -> AccessToken {
        let file = #"""
            {"type":"service_account","project_id":"\#(project.id)","private_key":"-----BEGIN PRIVATE KEY-----",
            "client_email":"\#(project.serviceAccountEmail)","token_uri":"\#(Self.tokenURI)"}
            """#
        guard case .serviceAccount(let account) = try Credential.parse(Array(file.utf8)) else {
            throw Rejected(reason: "the file holds another kind of credential")
        }
        let input = FCMWire.TokenRequest.signingInput(account: account, nowSeconds: nowMs / 1_000)
        let request = SimulatorRequest(
            method: "POST",
            path: "/token",
            body: FCMWire.TokenRequest.body(signingInput: input, signature: [1, 2, 3])
        )
        let newToken = isSigned ? "ya29.\(project.id).\(nowMs)" : nil
        reply = simulator.respond(to: ReadRequest(request), nowMs: nowMs, newToken: newToken)
        return try FCMWire.TokenRequest.parse(reply.answer).get()
    }

    // MARK: Sending

    /// Validates a job as intake does for an entry of `XADD`.
    func intake(
        _ fields: [String: String],
        over carrier: Carrier = .v1
    ) throws -> Job {
        let transport: Transport = carrier == .v1 ? .v1 : carrier == .xmpp ? .xmpp : .legacy
        let validator = IntakeValidator(
            transport.traits(body: carrier == .plainText ? .text : .json),
            hasSenderID: true,
            projectKeyTag: "{demo}",
            prefix: "fanfare"
        )
        let entry = fields.sorted { $0.key < $1.key }.map { (name: $0.key, value: Array($0.value.utf8)) }
        switch validator.decide(entryID: "1-0", fields: entry) {
        case .accept(let job): return job
        case .reject(_, let reason): throw Rejected(reason: reason)
        }
    }

    /// Sends a message to one recipient, from the job to the verdict.
    ///
    /// - Parameter target: a field and its value, such as `token` and a token.
    @discardableResult
    mutating func send(
        _ message: String,
        to target: (String, String),
        over carrier: Carrier = .v1,
        as format: MessageFormat? = nil,
        validateOnly: Bool = false
    ) throws -> Verdict {
        let format = format ?? (carrier == .v1 ? .v1 : .legacy)
        var fields = ["message": message, "format": format.rawValue, target.0: target.1]
        if validateOnly { fields["validate_only"] = "1" }
        let job = try intake(fields, over: carrier)
        return try attempt(job, recipient: job.recipient, over: carrier)
    }

    /// One attempt for one recipient of a job.
    mutating func attempt(_ job: Job, recipient: String, over carrier: Carrier) throws -> Verdict {
        guard carrier != .xmpp else { return try attemptXMPP(job, recipient: recipient) }
        let body = try Self.body(of: job, recipient: recipient, over: carrier, nowMs: nowMs)
        reply = post(body, over: carrier)
        return verdict(reply.outcome, kind: job.target.kind, recipient: recipient, over: carrier)
    }

    /// Sends a legacy message to many tokens in one request.
    mutating func multicast(_ message: String, to tokens: [String]) throws -> [Verdict] {
        let list = JSONValue.array(tokens.map { .string($0) }).jsonText
        let job = try intake(["message": message, "format": "legacy", "tokens": list], over: .legacy)
        var body: [UInt8] = []
        try Self.template(job).renderMulticast(tokens.map { SharedText($0) }, nowMs: nowMs, into: &body)
        reply = post(body, over: .legacy)
        let verdicts = LegacyResponse.verdicts(
            reply.outcome,
            recipients: tokens,
            kind: .token,
            nowMs: nowMs,
            atMostOnce: false
        )
        return Array(verdicts)
    }

    /// Posts a body that no check of the worker has seen. For XMPP see ``exchange(_:messageID:kind:recipient:)``.
    mutating func raw(
        _ body: String,
        over carrier: Carrier = .v1,
        kind: RecipientKind = .token,
        recipient: String = ""
    ) -> Verdict {
        reply = post(Array(body.utf8), over: carrier)
        return verdict(reply.outcome, kind: kind, recipient: recipient, over: carrier)
    }

    static func body(of job: Job, recipient: String, over carrier: Carrier, nowMs: Int64) throws -> [UInt8] {
        var body: [UInt8] = []
        switch carrier {
        case .v1, .legacy:
            try template(job, transport: carrier == .v1 ? .v1 : .legacy)
                .render(kind: job.target.kind, recipient: recipient, nowMs: nowMs, into: &body)
        case .plainText:
            try PlainTextTemplate(source(of: job)).render(token: recipient, into: &body)
        case .xmpp: body = try stanza(of: job, recipient: recipient, messageID: "m-1")
        }
        return body
    }

    private static func template(_ job: Job, transport: Transport = .legacy) throws -> RequestTemplate {
        try RequestTemplate(source(of: job), transport: transport)
    }

    static func source(of job: Job) throws -> SourceMessage {
        try SourceMessage(
            job.message,
            format: job.format,
            validateOnly: job.validateOnly,
            delivery: job.delivery,
            jobID: job.id
        )
    }

    mutating func post(
        _ body: [UInt8],
        over carrier: Carrier,
        authorization: String? = nil,
        project: String = "demo"
    ) -> SimulatorReply {
        let key = "key=" + Self.project.serverKey
        let request = SimulatorRequest(
            method: "POST",
            path: carrier == .v1 ? "/v1/projects/\(project)/messages:send" : "/fcm/send",
            authorization: authorization ?? (carrier == .v1 ? "Bearer " + accessToken : key),
            contentType: carrier == .plainText ? "application/x-www-form-urlencoded;charset=UTF-8" : "application/json",
            body: body
        )
        return simulator.respond(to: ReadRequest(request), nowMs: nowMs)
    }

    func verdict(
        _ outcome: RequestOutcome,
        kind: RecipientKind,
        recipient: String,
        over carrier: Carrier
    ) -> Verdict {
        switch carrier {
        case .v1: return V1Response.verdict(outcome, kind: kind, nowMs: nowMs, atMostOnce: false)
        case .legacy:
            let all = LegacyResponse.verdicts(
                outcome,
                recipients: [recipient],
                kind: kind,
                nowMs: nowMs,
                atMostOnce: false
            )
            return all.count == 1 ? all[0] : .failed(Failure(error: .unspecified, action: .none))
        case .plainText:
            return PlainTextResponse.verdict(outcome, recipient: recipient, nowMs: nowMs, atMostOnce: false)
        case .xmpp:
            return XMPPResponse.verdict(outcome, kind: kind, recipient: recipient, nowMs: nowMs, atMostOnce: false)
        }
    }
}

extension Job {
    /// The only recipient.
    var recipient: String {
        switch target {
        case .tokens(let names), .fids(let names), .recipients(let names): return names.first ?? ""
        case .topic(let name), .condition(let name), .group(let name): return name
        case .audience: return ""
        }
    }
}

extension SimulatorReply {
    /// The answer as the transport hands it over.
    var answer: HTTPAnswer {
        HTTPAnswer(
            status: status,
            body: body,
            contentType: header("content-type"),
            retryAfter: header("retry-after")
        )
    }

    var outcome: RequestOutcome { .answered(answer) }
    var text: String { String(decoding: body, as: UTF8.self) }

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    func json() throws -> JSONObject { try #require(try JSONParser.parse(body).object) }
}
