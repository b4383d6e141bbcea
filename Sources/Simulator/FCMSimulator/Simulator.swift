internal import FanfareModel

/// Firebase Cloud Messaging as a value: requests and the time go in, replies come out, and nothing else happens.
///
/// It judges by FCM's published rules alone, so that a client's own checks are tested and not mirrored. Each part owns
/// its state and its rules; the extensions of this type only route a request to the parts.
public struct Simulator: Sendable {
    let configuration: SimulatorConfiguration
    var credentials: Credentials
    var quotas: SendQuotas
    var devices = Devices()
    var groups: Groups
    var topics = Topics()
    var fanouts: Fanouts
    var messages: MessageStore
    var xmpp = XMPPService()
    var faults = Faults()
    var statistics = Statistics()
    var ids: IdentifierSource
    /// Added to the caller's clock; never negative.
    private(set) var clockOffsetMs: Int64 = 0

    public init(configuration: SimulatorConfiguration) {
        self.configuration = configuration
        credentials = Credentials(configuration)
        quotas = SendQuotas(perMinute: configuration.quotaPerMinute)
        groups = Groups(seed: configuration.seed)
        fanouts = Fanouts(rate: configuration.fanoutRate, defers: configuration.defersFanouts)
        messages = MessageStore(deliveryLimit: configuration.deliveryLimit)
        ids = IdentifierSource(seed: configuration.seed)
    }

    /// - Parameters:
    ///   - nowMs: Unix milliseconds.
    ///   - newToken: the access token to issue for a ``ReadRequest/tokenRequest``, nil if its signature is not valid; or
    ///     for a request of which ``ReadRequest/needsToken`` is true.
    public mutating func respond(to read: ReadRequest, nowMs: Int64, newToken: String? = nil) -> SimulatorReply {
        let now = nowMs &+ clockOffsetMs
        advance(to: now)
        statistics.requests += 1
        let action = faults.hit(path: read.request.path, random: &ids.random) { read.hasToken(prefix: $0) }
        if let action, action.replaces { return action.reply(to: read.request.path) }
        var reply = answer(read, now: now, newToken: newToken)
        if let action {
            reply.delayMs += action.delayMs
            reply.wire = reply.wire ?? action.wire
        }
        return reply
    }

    private mutating func answer(_ read: ReadRequest, now: Int64, newToken: String?) -> SimulatorReply {
        let projects = credentials.projects
        switch read.kind {
        case .v1(let id, let send): return answerV1(read.request, project: projects[id], send: send, now: now)
        case .legacy(let send): return answerLegacy(read.request, send: send, now: now)
        case .topics(let change): return answerTopics(read.request, change: change, now: now)
        case .group(let change): return answerGroups(read.request, change: change, now: now)
        case .subscription(let id, let change):
            return answerSubscriptions(read.request, project: projects[id], change: change, now: now)
        case .info(let token, let details):
            return answerInfo(read.request, token: token, details: details, now: now)
        case .token(let request):
            do throws(OAuthError) {
                return try credentials.exchange(try request.get(), newToken: newToken, nowMs: callersTime(now))
            } catch {
                return error.reply
            }
        case .identity(let request):
            do throws(IdentityError) {
                return try credentials.answer(
                    try request.get(),
                    authorization: read.request.authorization,
                    newToken: newToken ?? "",
                    nowMs: callersTime(now)
                )
            } catch {
                return error.reply
            }
        case .metadata: return answerMetadata(read.request, newToken: newToken ?? "", now: now)
        case .notFound: return SimulatorReply(page: 404, "The requested URL was not found on this server.")
        case .wrongMethod(let allowed):
            let reply = SimulatorReply(page: 405, "The request method is inappropriate for the URL.")
            return reply.adding("allow", allowed)
        }
    }

    /// Adds `Retry-After`, unless the configuration leaves it out.
    func retryable(_ reply: SimulatorReply, seconds: Int64) -> SimulatorReply {
        configuration.bareErrors ? reply : reply.adding("retry-after", String(seconds))
    }

    // MARK: Time

    /// The time without what `/clock` added, by which ``Credentials`` go.
    func callersTime(_ now: Int64) -> Int64 { now &- clockOffsetMs }

    /// Performs what was due by then, each thing at its own time: fan-outs, stored messages, XMPP.
    mutating func advance(to now: Int64) {
        for fanout in fanouts.advance(to: now) {
            let endMs = fanout.finishedMs ?? now
            messages.advance(to: endMs, devices: &devices, ids: &ids)
            if let message = fanout.message { finish(fanout, message, now: endMs) }
        }
        messages.advance(to: now, devices: &devices, ids: &ids)
        advanceXMPP(to: now)
    }

    /// - Returns: false if the step is not 0 to ten years, or the clock is a hundred years ahead already.
    mutating func advanceClock(byMs step: Int64, nowMs: Int64) -> Bool {
        let yearMs: Int64 = 365 * 86_400_000
        guard (0...10 * yearMs).contains(step), clockOffsetMs <= 100 * yearMs else { return false }
        clockOffsetMs += step
        advance(to: nowMs &+ clockOffsetMs)
        return true
    }

    /// Forgets everything but connections, access tokens and the numbers that ids grow by.
    mutating func reset() {
        quotas = SendQuotas(perMinute: configuration.quotaPerMinute)
        devices = Devices()
        groups.removeAll()
        topics = Topics()
        fanouts = Fanouts(rate: configuration.fanoutRate, defers: configuration.defersFanouts)
        messages = MessageStore(deliveryLimit: configuration.deliveryLimit)
        xmpp.reset()
        faults.removeAll()
        statistics.reset()
        // Message ids still differ from the earlier ones.
        ids.random = SplitMix64(seed: configuration.seed)
        clockOffsetMs = 0
    }

    // MARK: Connections

    /// - Returns: how many streams to allow on the connection; nil if no fault limits them.
    public mutating func connectionOpened() -> Int? {
        statistics.connectionOpened()
        return faults.streamLimit
    }

    public mutating func connectionClosed() { statistics.openConnections -= 1 }

    /// - Parameter count: streams open on one connection, each time they reach a new height.
    public mutating func streamsOpened(_ count: Int) {
        statistics.maxConcurrentStreams = max(statistics.maxConcurrentStreams, count)
    }
}
