/// Firebase Cloud Messaging as a value: requests and the time go in, replies come out, and nothing else happens.
/// It judges by FCM's published rules alone, so that a client's own checks are tested and not mirrored.
public struct Simulator: Sendable {
    let configuration: SimulatorConfiguration
    /// What `aud` of an assertion may be.
    public var tokenAudiences: Set<String> = []
    /// Seconds an access token lives, by the caller's clock: see ``callersTime(_:)``.
    public var tokenLifetimeSeconds: Int64 = 3_600

    private let projects: [String: SimulatedProject]
    let projectsByKey: [String: SimulatedProject]
    var devices = Devices()
    var tokens = AccessTokens()
    var faults = Faults()
    var statistics = Statistics()
    var deliveries: DeliveryStore
    var random: RandomStream
    /// Added to the caller's clock; never negative.
    var clockOffsetMs: Int64 = 0
    /// By project id.
    private(set) var quotas: [String: QuotaWindow] = [:]
    var topicQuotas: [String: QuotaWindow] = [:]
    var buckets = DeviceBuckets()
    var throttle = Throttle()
    var queues = DeviceQueues()
    var subscriptions = Subscriptions()
    var groups: Groups
    var xmpp = XMPPService()
    var fanouts: Fanouts
    /// How often each name that fails N times has failed.
    private var failuresSoFar: [UInt64: Int] = [:]
    private var messageCount: UInt64 = 0

    public init(configuration: SimulatorConfiguration) {
        self.configuration = configuration
        var projects: [String: SimulatedProject] = [:]
        var keys: [String: SimulatedProject] = [:]
        for project in configuration.projects {
            projects[project.id] = project
            projects[project.senderID] = project
            keys[project.serverKey] = project
        }
        self.projects = projects
        projectsByKey = keys
        deliveries = DeliveryStore(limit: configuration.deliveryLimit)
        random = RandomStream(seed: configuration.seed)
        groups = Groups(seed: configuration.seed)
        fanouts = Fanouts(rate: configuration.fanoutRate, defers: configuration.defersFanouts)
    }

    /// - Parameters:
    ///   - nowMs: Unix milliseconds.
    ///   - proof: needed by requests that have a ``ReadRequest/tokenRequest``.
    public mutating func respond(to read: ReadRequest, nowMs: Int64, proof: TokenProof? = nil) -> SimulatorReply {
        let now = nowMs &+ clockOffsetMs
        settle(now: now)
        statistics.requests += 1
        let action = faults.hit(path: read.request.path, random: &random) { read.hasToken(prefix: $0) }
        if let action, action.replaces { return Self.reply(instead: action) }
        var reply = answer(read, now: now, proof: proof)
        if let action {
            reply.delayMs += action.delayMs
            reply.wire = reply.wire ?? action.wire
        }
        return reply
    }

    private mutating func answer(_ read: ReadRequest, now: Int64, proof: TokenProof?) -> SimulatorReply {
        switch read.kind {
        case .v1(let id, let send): return answerV1(read.request, project: projects[id], send: send, now: now)
        case .legacy(let send): return answerLegacy(read.request, send: send, now: now)
        case .topics(let change): return answerTopics(read.request, change: change, now: now)
        case .group(let change): return answerGroups(read.request, change: change, now: now)
        case .subscription(let id, let change):
            return answerSubscriptions(read.request, project: projects[id], change: change, now: now)
        case .info(let token, let details):
            return answerInfo(read.request, token: token, details: details, now: now)
        case .token(.failure(let refusal)): return refusal.reply
        case .token(.success(let request)): return issueToken(request, proof: proof, now: now)
        case .notFound: return Pages.html(404, "The requested URL was not found on this server.")
        case .wrongMethod(let allowed):
            return Pages.html(405, "The request method is inappropriate for the URL.").adding("allow", allowed)
        }
    }

    private static func reply(instead action: FaultAction) -> SimulatorReply {
        var reply: SimulatorReply
        if let status = action.html {
            reply = Pages.html(status, "The server encountered a temporary error. Please try again in 30 seconds.")
        } else {
            let status = action.status ?? 500
            let isJSON = action.body.map { $0.hasPrefix("{") } ?? false
            reply = SimulatorReply(
                status: status,
                contentType: isJSON ? "application/json; charset=UTF-8" : "text/plain; charset=UTF-8",
                text: action.body ?? ""
            )
        }
        if let value = action.retryAfter { reply = reply.adding("retry-after", value) }
        reply.delayMs = action.delayMs
        reply.wire = action.wire
        return reply
    }

    // MARK: Credentials

    /// The time without what `/clock` added. Credentials go by it: their other end is a real client, which signs with
    /// its own clock and renews a token by it, so that judged by the moved clock none would ever be valid again.
    func callersTime(_ now: Int64) -> Int64 { now &- clockOffsetMs }

    func tokenValidity(_ authorization: String?, now: Int64) -> AccessTokens.Validity {
        tokens.validity(authorization: authorization, nowMs: callersTime(now))
    }

    // MARK: What v1 and legacy sends share

    mutating func takeQuota(_ project: SimulatedProject, count: Int, now: Int64) -> Bool {
        if quotas[project.id, default: QuotaWindow(limit: configuration.quotaPerMinute)].take(count, nowMs: now) {
            return true
        }
        statistics.quotaRejections += 1
        return false
    }

    /// What is answered with 429 does not count.
    mutating func returnQuota(_ project: SimulatedProject) {
        quotas[project.id]?.giveBack(1)
    }

    func secondsUntilQuota(_ project: SimulatedProject, now: Int64) -> Int64 {
        quotas[project.id]?.secondsLeft(nowMs: now) ?? 1
    }

    /// True while `name` still has to fail, `times` in all.
    mutating func stillFails(_ name: String, times: Int) -> Bool {
        guard times > 0 else { return false }
        let hash = TokenHash.of(name)
        let soFar = failuresSoFar[hash] ?? 0
        guard soFar < times else { return false }
        failuresSoFar[hash] = soFar + 1
        return true
    }

    /// `0:<microseconds>%<hex>`, or for Apple devices the bare number.
    mutating func messageID(_ platform: Platform, now: Int64) -> String {
        messageCount += 1
        let micros = now &* 1_000 &+ Int64(messageCount % 1_000)
        guard platform != .apple else { return String(micros) }
        return "0:\(micros)%" + String(random.next() | 1 << 63, radix: 16)
    }

    mutating func forgetAll() {
        statistics.reset()
        deliveries.removeAll()
        devices = Devices()
        faults.removeAll()
        failuresSoFar = [:]
        quotas = [:]
        topicQuotas = [:]
        buckets = DeviceBuckets()
        throttle = Throttle()
        queues = DeviceQueues()
        subscriptions = Subscriptions()
        groups.removeAll()
        xmpp.reset()
        fanouts = Fanouts(rate: configuration.fanoutRate, defers: configuration.defersFanouts)
        clockOffsetMs = 0
        random = RandomStream(seed: configuration.seed)
    }

    // MARK: Connections

    /// - Returns: how many streams to allow on it; nil where no fault says.
    public mutating func connectionOpened() -> Int? {
        statistics.connections += 1
        statistics.openConnections += 1
        return faults.streamLimit
    }

    public mutating func connectionClosed() {
        statistics.openConnections -= 1
    }

    /// - Parameter count: the streams open on one connection, told when it reaches a new height.
    public mutating func streamsOpen(_ count: Int) {
        statistics.maxConcurrentStreams = max(statistics.maxConcurrentStreams, count)
    }
}

/// What a server found out about an assertion, and the token to issue if all is well.
public struct TokenProof: Equatable, Sendable {
    public var isSignatureValid: Bool
    public var newToken: String

    public init(isSignatureValid: Bool, newToken: String) {
        self.isSignatureValid = isSignatureValid
        self.newToken = newToken
    }
}

enum Pages {
    static func html(_ status: Int, _ sentence: String) -> SimulatorReply {
        let text = """
            <!DOCTYPE html>
            <html lang=en><title>Error \(status)</title>
            <p><b>\(status).</b> <ins>That's an error.</ins>
            <p>\(sentence) <ins>That's all we know.</ins>

            """
        return SimulatorReply(status: status, contentType: "text/html; charset=UTF-8", text: text)
    }
}
