import FanfareJSON

extension Simulator {
    /// Subscribe and unsubscribe operations a second, for each project.
    static let topicOperationsPerSecond = 3_000

    mutating func answerTopics(
        _ request: SimulatorRequest,
        change: Result<TopicRequest, TopicRefusal>,
        now: Int64
    ) -> SimulatorReply {
        do throws(TopicRefusal) {
            let project = try topicProject(request, now: now)
            let change = try change.get()
            // What fits into the second is done; the rest is told so token by token, or all at once if nothing fits.
            let allowed = takeTopicOperations(change.tokens.count, project: project, now: now)
            guard allowed > 0 else { throw .rate }
            return apply(change, allowed: allowed, now: now)
        } catch {
            let reply = error.reply
            return error == .rate && !configuration.bareErrors ? reply.adding("retry-after", "1") : reply
        }
    }

    func topicProject(_ request: SimulatorRequest, now: Int64) throws(TopicRefusal) -> SimulatedProject {
        guard let authorization = request.authorization else { throw .unauthenticated }
        if authorization.hasPrefix("key=") {
            guard let project = projectsByKey[String(authorization.dropFirst("key=".count))] else {
                throw .unauthenticated
            }
            return project
        }
        // Without the header a bearer token is not looked at.
        guard request.accessTokenAuth, case .valid(let grant) = tokenValidity(authorization, now: now)
        else { throw .unauthenticated }
        guard grant.maySend,
            let project = configuration.projects.first(where: { $0.serviceAccountEmail == grant.email })
        else { throw .forbidden }
        return project
    }

    private mutating func apply(_ change: TopicRequest, allowed: Int, now: Int64) -> SimulatorReply {
        var results: [JSONValue] = []
        results.reserveCapacity(change.tokens.count)
        var delayMs: Int64 = 0
        var isLost = false
        for (index, token) in change.tokens.enumerated() {
            let error: String?
            if index >= allowed {
                error = "RESOURCE_EXHAUSTED"
            } else {
                switch TokenBehaviour(token) {
                case .slow(let milliseconds): delayMs = max(delayMs, milliseconds)
                case .lost(let times): isLost = stillFails("topics:" + token, times: times) || isLost
                default: break
                }
                error = topicRefusal(of: token, now: now) ?? apply(change, to: token, now: now)
            }
            results.append(.object(error.map { ["error": .string($0)] } ?? JSONObject()))
        }
        var reply = SimulatorReply(status: 200, json: JSONValue.object(["results": .array(results)]).jsonBytes)
        reply.delayMs = delayMs
        if isLost { reply.wire = .reset(code: 2) }
        return reply
    }

    private mutating func apply(_ change: TopicRequest, to token: String, now: Int64) -> String? {
        guard change.isAdding else {
            subscriptions.unsubscribe(token, from: change.topic)
            return nil
        }
        do throws(Subscriptions.Refusal) {
            try subscriptions.subscribe(token, to: change.topic, nowMs: now)
            return nil
        } catch {
            switch error {
            case .tooManyTopics: return "TOO_MANY_TOPICS"
            case .tooManyTokens: return "INTERNAL"
            }
        }
    }

    /// The word for a token that cannot be subscribed; nil when it can.
    mutating func topicRefusal(of token: String, now: Int64) -> String? {
        guard Recipients.isToken(token) else { return "INVALID_ARGUMENT" }
        if devices.isGone(token, nowMs: now) { return "NOT_FOUND" }
        switch TokenBehaviour(token) {
        case .unregistered: return "NOT_FOUND"
        case .invalid: return "INVALID_ARGUMENT"
        case .mismatch, .auth: return "PERMISSION_DENIED"
        case .retryable(let error, let times):
            guard stillFails("topics:" + token, times: times) else { return nil }
            switch error {
            case .unavailable: return "DEADLINE_EXCEEDED"
            case .internalError: return "INTERNAL"
            case .quota, .deviceRate: return "RESOURCE_EXHAUSTED"
            }
        case .healthy, .canonical, .slow, .lost: return nil
        }
    }
}
