/// The legacy HTTP protocol, in JSON and in plain text.
extension Simulator {
    mutating func answerLegacy(
        _ request: SimulatorRequest,
        send: Result<LegacySend, LegacyRequestError>,
        now: Int64
    ) -> SimulatorReply {
        guard let project = credentials.legacyProject(of: request, nowMs: callersTime(now)) else {
            statistics.countRejected("Unauthorized")
            return credentials.unauthorized(request)
        }
        let count: Int
        switch send {
        case .success(let send): count = send.target.listedCount ?? 1
        case .failure(.code(_, let recipients, _, _)): count = recipients ?? 1
        case .failure(.sentence): count = 1
        }
        guard quotas.consume(count, project: project.id, nowMs: now) else {
            let reply = SimulatorReply(status: 503, contentType: LegacyReply.plainType, text: "Unavailable\n")
            return retryable(reply, seconds: quotas.secondsLeft(project: project.id, nowMs: now))
        }
        statistics.sends += count
        switch send {
        case .failure(let error): return refuse(error)
        case .success(let send): return answer(send, project: project, now: now)
        }
    }

    private mutating func refuse(_ error: LegacyRequestError) -> SimulatorReply {
        let plain = LegacyReply.plainType
        switch error {
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
                multicastID: ids.multicast()
            )
        }
    }

    private mutating func answer(_ request: LegacySend, project: SimulatedProject, now: Int64) -> SimulatorReply {
        let send = Send(
            project: project,
            traits: request.traits,
            source: request.isPlainText ? .plainText(request.body) : .legacy(request.body),
            isTrial: request.dryRun
        )
        switch request.target {
        case .single(let to):
            // Plain text knows no groups: a group's key is a token like any other there.
            guard !request.isPlainText, case .group(let group) = groups.lookup(to, project: project.id) else {
                return sendToDevices(send, [to], isPlainText: request.isPlainText, now: now)
            }
            return sendToGroup(send, key: to, group, now: now)
        case .multicast(let tokens):
            statistics.multicasts += 1
            return sendToDevices(send, tokens, isPlainText: false, now: now)
        case .audience(let audience):
            guard let id = fanOut(send, to: audience, isNumbered: true, now: now) else { return topicRate() }
            return SimulatorReply(status: 200, json: Array(#"{"message_id":\#(send.isTrial ? "1" : id)}"#.utf8))
        }
    }

    private mutating func sendToDevices(
        _ send: Send,
        _ tokens: [String],
        isPlainText: Bool,
        now: Int64
    ) -> SimulatorReply {
        var results: [LegacyReply.Result] = []
        results.reserveCapacity(tokens.count)
        var delayMs: Int64 = 0
        var isLost = false
        var hasRetryable = false
        for token in tokens {
            switch admit(send, to: token, now: now) {
            case .refused(let failure):
                statistics.countRejected(failure.legacyCode)
                hasRetryable = hasRetryable || failure.isRetryable
                results.append(.error(failure.legacyCode))
            case .accepted(let platform, let canonical, let delay, let lost):
                delayMs = max(delayMs, delay)
                isLost = isLost || lost
                let id = accept(send, for: token, on: platform, now: now)
                results.append(.accepted(id, canonical: canonical))
            }
        }
        var reply =
            isPlainText
            ? LegacyReply.plainText(results[0]) : LegacyReply.results(results, multicastID: ids.multicast())
        if hasRetryable { reply = retryable(reply, seconds: 1) }
        reply.delayMs = delayMs
        if isLost { reply.wire = .reset(code: 2) }
        return reply
    }

    private mutating func sendToGroup(_ send: Send, key: String, _ group: Groups.Group, now: Int64) -> SimulatorReply {
        switch deliver(send, toGroup: key, group, now: now) {
        case .tooMany: return topicRate()
        case .failed(let members, _, areNamed: true):
            statistics.countRejected("Unavailable")
            return LegacyReply.group(success: 0, failed: members)
        case .failed:
            statistics.countRejected("Unavailable")
            return SimulatorReply(status: 503, contentType: LegacyReply.plainType, text: "")
        case .sent(let success, let failed):
            statistics.accepted += 1
            return LegacyReply.group(success: success, failed: failed)
        }
    }

    private mutating func topicRate() -> SimulatorReply {
        statistics.countRejected("TopicsMessageRateExceeded")
        return retryable(LegacyReply.topic(error: "TopicsMessageRateExceeded"), seconds: 1)
    }
}
