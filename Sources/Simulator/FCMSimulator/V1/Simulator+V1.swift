import FanfareJSON

extension Simulator {
    mutating func answerV1(
        _ request: SimulatorRequest,
        project: SimulatedProject?,
        send: Result<V1Send, APIError>,
        now: Int64
    ) -> SimulatorReply {
        guard let project else { return APIError.projectNotFound.reply }
        if let refusal = credentialRefusal(request, project: project, now: now) {
            statistics.countRejected(refusal.statisticsKey)
            return refusal.reply
        }
        guard takeQuota(project, count: 1, now: now) else {
            let error = APIError.projectQuota(senderID: project.senderID, limit: configuration.quotaPerMinute)
            let reply = error.reply
            let seconds = secondsUntilQuota(project, now: now)
            return configuration.bareErrors ? reply : reply.adding("retry-after", String(seconds))
        }
        statistics.sends += 1
        let reply: SimulatorReply
        switch send {
        case .failure(let error): reply = refuse(error)
        case .success(let send): reply = answer(send, project: project, now: now)
        }
        if reply.status == 429 { returnQuota(project) }
        return reply
    }

    private mutating func answer(_ send: V1Send, project: SimulatedProject, now: Int64) -> SimulatorReply {
        switch send.target {
        case .token(let token):
            switch groups.lookup(token, project: project.id) {
            case .group(let group): return sendToGroup(send, key: token, group, project: project, now: now)
            case .notAGroup, .gone, .foreign:
                return sendToDevice(send, token: token, field: "message.token", project: project, now: now)
            }
        case .fid(let fid): return sendToDevice(send, token: fid, field: "message.fid", project: project, now: now)
        case .topic(let topic):
            if stillFails("topic:" + topic, times: TokenBehaviour.topicRefusals(topic)) {
                return refuse(.topicQuota, retryAfter: 1)
            }
            return fanOut(send, to: .topic(topic), project: project, now: now)
        case .condition(let condition): return fanOut(send, to: .condition(condition), project: project, now: now)
        }
    }

    /// nil when the bearer token may send for this project.
    func credentialRefusal(_ request: SimulatorRequest, project: SimulatedProject, now: Int64) -> APIError? {
        switch tokenValidity(request.authorization, now: now) {
        case .missing: return .missingCredential
        case .unknown: return .badCredential(reason: "ACCESS_TOKEN_TYPE_UNSUPPORTED")
        case .expired: return .badCredential(reason: "ACCESS_TOKEN_EXPIRED")
        case .valid(let grant):
            guard grant.maySend else { return .insufficientScope }
            return grant.email == project.serviceAccountEmail ? nil : .permissionDenied(project: project.id)
        }
    }

    private mutating func sendToDevice(
        _ send: V1Send,
        token: String,
        field: String,
        project: SimulatedProject,
        now: Int64
    ) -> SimulatorReply {
        switch ask(token, traits: send.traits, project: project, isTrial: send.validateOnly, now: now) {
        case .refused(.tooOften(let seconds)): return refuse(.deviceRate(token: token), retryAfter: seconds)
        case .refused(let refusal):
            return refuse(refusal.apiError(token: token, field: field), retryAfter: refusal.isRetryable ? 1 : nil)
        case .accepted(let platform, _, let delayMs, let isLost):
            var reply: SimulatorReply
            if send.validateOnly {
                statistics.accepted += 1
                reply = Self.success(project, "fake_message_id")
            } else {
                let id = messageID(platform, now: now)
                statistics.countAccepted(token: token)
                let accepted = AcceptedMessage(
                    token: token,
                    messageID: id,
                    senderID: project.senderID,
                    source: .v1(send.body),
                    acceptedMs: now
                )
                post(accepted, traits: send.traits, now: now)
                reply = Self.success(project, id)
            }
            reply.delayMs = delayMs
            if isLost { reply.wire = .reset(code: 2) }
            return reply
        }
    }

    private mutating func fanOut(
        _ send: V1Send,
        to audience: FanoutMessage.Audience,
        project: SimulatedProject,
        now: Int64
    ) -> SimulatorReply {
        if send.validateOnly {
            statistics.accepted += 1
            return Self.success(project, "fake_message_id")
        }
        let id = messageID(.android, now: now)
        let isStarted = startFanout(
            to: audience,
            traits: send.traits,
            source: .v1(send.body),
            messageID: id,
            project: project,
            now: now
        )
        guard isStarted else { return refuse(.topicQuota, retryAfter: 1) }
        statistics.accepted += 1
        return Self.success(project, id)
    }

    /// A group's answer names no message and no counts: what became of the members is not told.
    private mutating func sendToGroup(
        _ send: V1Send,
        key: String,
        _ group: Groups.Group,
        project: SimulatedProject,
        now: Int64
    ) -> SimulatorReply {
        let outcome = self.send(
            toGroup: key,
            group,
            traits: send.traits,
            source: .v1(send.body),
            isTrial: send.validateOnly,
            project: project,
            now: now
        )
        if outcome == .tooMany { return refuse(.topicQuota, retryAfter: 1) }
        statistics.accepted += 1
        return SimulatorReply(status: 200, json: Array("{}\n".utf8))
    }

    private mutating func refuse(_ error: APIError, retryAfter seconds: Int64? = nil) -> SimulatorReply {
        statistics.countRejected(error.statisticsKey)
        let reply = error.reply
        guard let seconds, !configuration.bareErrors else { return reply }
        return reply.adding("retry-after", String(seconds))
    }

    private static func success(_ project: SimulatedProject, _ id: String) -> SimulatorReply {
        SimulatorReply(status: 200, json: Array("{\n  \"name\": \"projects/\(project.id)/messages/\(id)\"\n}\n".utf8))
    }
}
