/// HTTP v1: `messages:send`.
extension Simulator {
    mutating func answerV1(
        _ request: SimulatorRequest,
        project: SimulatedProject?,
        send: Result<V1Send, APIError>,
        now: Int64
    ) -> SimulatorReply {
        guard let project else { return APIError.projectNotFound.reply }
        if let error = credentials.error(of: request, project: project, nowMs: callersTime(now)) {
            statistics.countRejected(error.statisticsKey)
            return error.reply
        }
        guard quotas.consume(1, project: project.id, nowMs: now) else {
            let error = APIError.projectQuota(senderID: project.senderID, limit: configuration.quotaPerMinute)
            return retryable(error.reply, seconds: quotas.secondsLeft(project: project.id, nowMs: now))
        }
        statistics.sends += 1
        let reply: SimulatorReply
        switch send {
        case .failure(let error): reply = refuse(error)
        case .success(let send): reply = answer(send, project: project, now: now)
        }
        if reply.status == 429 { quotas.restore(project: project.id) }
        return reply
    }

    private mutating func answer(_ request: V1Send, project: SimulatedProject, now: Int64) -> SimulatorReply {
        let send = Send(
            project: project,
            traits: request.traits,
            source: .v1(request.body),
            isTrial: request.validateOnly
        )
        switch request.target {
        case .token(let token):
            guard case .group(let group) = groups.lookup(token, project: project.id) else {
                return sendToDevice(send, token: token, field: "message.token", now: now)
            }
            // The answer about a group names no message and no counts.
            if deliver(send, toGroup: token, group, now: now) == .tooMany { return refuse(.topicQuota, retryAfter: 1) }
            statistics.accepted += 1
            return SimulatorReply(status: 200, json: Array("{}\n".utf8))
        case .fid(let fid): return sendToDevice(send, token: fid, field: "message.fid", now: now)
        case .audience(let audience):
            guard let id = fanOut(send, to: audience, isNumbered: false, now: now) else {
                return refuse(.topicQuota, retryAfter: 1)
            }
            return Self.accepted(send, id)
        }
    }

    private mutating func sendToDevice(_ send: Send, token: String, field: String, now: Int64) -> SimulatorReply {
        switch admit(send, to: token, now: now) {
        case .refused(.tooOften(let seconds)): return refuse(.deviceRate(token: token), retryAfter: seconds)
        case .refused(let failure):
            return refuse(failure.apiError(token: token, field: field), retryAfter: failure.isRetryable ? 1 : nil)
        case .accepted(let platform, _, let delayMs, let isLost):
            var reply = Self.accepted(send, accept(send, for: token, on: platform, now: now))
            reply.delayMs = delayMs
            if isLost { reply.wire = .reset(code: 2) }
            return reply
        }
    }

    private mutating func refuse(_ error: APIError, retryAfter seconds: Int64? = nil) -> SimulatorReply {
        statistics.countRejected(error.statisticsKey)
        return seconds.map { retryable(error.reply, seconds: $0) } ?? error.reply
    }

    private static func accepted(_ send: Send, _ id: String) -> SimulatorReply {
        let name = "projects/\(send.project.id)/messages/\(id)"
        return SimulatorReply(status: 200, json: Array("{\n  \"name\": \"\(name)\"\n}\n".utf8))
    }
}
