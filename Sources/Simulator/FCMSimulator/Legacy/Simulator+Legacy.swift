extension Simulator {
    mutating func answerLegacy(
        _ request: SimulatorRequest,
        send: Result<LegacySend, LegacyRefusal>,
        now: Int64
    ) -> SimulatorReply {
        guard let project = legacyProject(request, now: now) else {
            statistics.countRejected("Unauthorized")
            return unauthorized(request)
        }
        let count: Int
        switch send {
        case .success(let send): count = send.recipientCount
        case .failure(.code(_, let recipients, _, _)): count = recipients ?? 1
        case .failure(.sentence): count = 1
        }
        guard takeQuota(project, count: count, now: now) else {
            let reply = SimulatorReply(status: 503, contentType: "text/plain; charset=UTF-8", text: "Unavailable\n")
            let seconds = secondsUntilQuota(project, now: now)
            return configuration.bareErrors ? reply : reply.adding("retry-after", String(seconds))
        }
        statistics.sends += count
        switch send {
        case .failure(let refusal): return refuse(refusal)
        case .success(let send): return answer(send, project: project, now: now)
        }
    }

    /// The 401 answer. Its page says so if the key is one for apps.
    func unauthorized(_ request: SimulatorRequest) -> SimulatorReply {
        let isAppKey = configuration.projects.contains { project in
            project.appKeys.contains { request.authorization == "key=" + $0 }
        }
        let words = isAppKey ? "This key is one for apps. Use a server key." : "The request was not authorized."
        return Pages.html(401, words)
    }

    /// The project whose key this is; a key of any other kind belongs to none.
    func legacyProject(_ request: SimulatorRequest, now: Int64) -> SimulatedProject? {
        guard let authorization = request.authorization else { return nil }
        var project: SimulatedProject?
        if authorization.hasPrefix("key=") {
            project = projectsByKey[String(authorization.dropFirst("key=".count))]
        } else if request.accessTokenAuth,
            case .valid(let grant) = tokenValidity(authorization, now: now), grant.maySend
        {
            project = configuration.projects.first { $0.serviceAccountEmail == grant.email }
        }
        if let sender = request.projectIDHeader, sender != project?.senderID { return nil }
        return project
    }

    private mutating func refuse(_ refusal: LegacyRefusal) -> SimulatorReply {
        let plain = "text/plain; charset=UTF-8"
        switch refusal {
        case .sentence(let sentence):
            statistics.countRejected("InvalidParameters")
            return SimulatorReply(status: 400, contentType: plain, text: sentence + "\n")
        case .code(let code, let recipients, let isPlainText, let observed):
            statistics.countRejected(code, times: recipients ?? 1)
            if isPlainText { return SimulatorReply(status: 200, contentType: plain, text: "Error=\(code)\n") }
            if configuration.observedLegacyErrors {
                return SimulatorReply(status: 400, contentType: plain, text: observed + "\n")
            }
            guard let recipients else { return LegacyReply.topic(error: code) }
            return LegacyReply.results(
                Array(repeating: .error(code), count: recipients),
                multicastID: multicastID()
            )
        }
    }

    private mutating func answer(_ send: LegacySend, project: SimulatedProject, now: Int64) -> SimulatorReply {
        switch send.target {
        // Plain text knows no groups: there a key is a token like any other.
        case .single(let token) where send.isPlainText: return sendToDevices(send, [token], project: project, now: now)
        case .single(let to):
            switch groups.lookup(to, project: project.id) {
            case .group(let group): return sendToGroup(send, key: to, group, project: project, now: now)
            case .notAGroup, .gone, .foreign: return sendToDevices(send, [to], project: project, now: now)
            }
        case .multicast(let tokens):
            statistics.multicasts += 1
            return sendToDevices(send, tokens, project: project, now: now)
        case .topic(let topic):
            if stillFails("topic:" + topic, times: TokenBehaviour.topicRefusals(topic)) { return topicRate() }
            return fanOut(send, to: .topic(topic), project: project, now: now)
        case .condition(let condition): return fanOut(send, to: .condition(condition), project: project, now: now)
        }
    }

    private mutating func sendToDevices(
        _ send: LegacySend,
        _ tokens: [String],
        project: SimulatedProject,
        now: Int64
    ) -> SimulatorReply {
        var results: [LegacyReply.Result] = []
        results.reserveCapacity(tokens.count)
        var delayMs: Int64 = 0
        var isLost = false
        var hasRetryable = false
        for token in tokens {
            switch ask(token, traits: send.traits, project: project, isTrial: send.dryRun, now: now) {
            case .refused(let refusal):
                statistics.countRejected(refusal.legacyCode)
                hasRetryable = hasRetryable || refusal.isRetryable
                results.append(.error(refusal.legacyCode))
            case .accepted(let platform, let canonical, let delay, let lost):
                delayMs = max(delayMs, delay)
                isLost = isLost || lost
                let id = send.dryRun ? "fake_message_id" : messageID(platform, now: now)
                results.append(.accepted(id, canonical: canonical))
                guard !send.dryRun else {
                    statistics.accepted += 1
                    continue
                }
                statistics.countAccepted(token: token)
                let accepted = AcceptedMessage(
                    token: token,
                    messageID: id,
                    senderID: project.senderID,
                    source: send.source,
                    acceptedMs: now
                )
                post(accepted, traits: send.traits, now: now)
            }
        }
        var reply =
            send.isPlainText
            ? LegacyReply.plainText(results[0]) : LegacyReply.results(results, multicastID: multicastID())
        if hasRetryable, !configuration.bareErrors { reply = reply.adding("retry-after", "1") }
        reply.delayMs = delayMs
        if isLost { reply.wire = .reset(code: 2) }
        return reply
    }

    private mutating func fanOut(
        _ send: LegacySend,
        to audience: FanoutMessage.Audience,
        project: SimulatedProject,
        now: Int64
    ) -> SimulatorReply {
        guard !send.dryRun else {
            statistics.accepted += 1
            return LegacyReply.topic(messageID: 1)
        }
        // A topic's message id is a number here, unlike a token's.
        let id = Int64(random.next() >> 1) | 1 << 62
        let isStarted = startFanout(
            to: audience,
            traits: send.traits,
            source: send.source,
            messageID: String(id),
            project: project,
            now: now
        )
        guard isStarted else { return topicRate() }
        statistics.accepted += 1
        return LegacyReply.topic(messageID: id)
    }

    private mutating func sendToGroup(
        _ send: LegacySend,
        key: String,
        _ group: Groups.Group,
        project: SimulatedProject,
        now: Int64
    ) -> SimulatorReply {
        let outcome = self.send(
            toGroup: key,
            group,
            traits: send.traits,
            source: send.source,
            isTrial: send.dryRun,
            project: project,
            now: now
        )
        switch outcome {
        case .tooMany: return topicRate()
        case .failed(let members, _, areNamed: true):
            statistics.countRejected("Unavailable")
            return LegacyReply.group(success: 0, failed: members)
        case .failed:
            statistics.countRejected("Unavailable")
            return SimulatorReply(status: 503, contentType: "text/plain; charset=UTF-8", text: "")
        case .empty:
            statistics.accepted += 1
            return LegacyReply.group(success: 0, failed: [])
        case .sent(let success, let failed):
            statistics.accepted += 1
            return LegacyReply.group(success: success, failed: failed)
        }
    }

    private mutating func topicRate() -> SimulatorReply {
        statistics.countRejected("TopicsMessageRateExceeded")
        let reply = LegacyReply.topic(error: "TopicsMessageRateExceeded")
        return configuration.bareErrors ? reply : reply.adding("retry-after", "1")
    }

    /// Nineteen digits: more than a double holds.
    private mutating func multicastID() -> UInt64 {
        1_000_000_000_000_000_000 + random.next() % 8_000_000_000_000_000_000
    }
}

extension LegacySend {
    fileprivate var source: Delivery.Source { isPlainText ? .plainText(body) : .legacy(body) }
}
