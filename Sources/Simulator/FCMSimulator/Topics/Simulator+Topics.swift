import FanfareJSON
import FanfareModel

/// The Instance ID API and HTTP v1 on topic subscriptions.
extension Simulator {
    /// `POST /iid/v1:batchAdd` and `POST /iid/v1:batchRemove`.
    mutating func answerTopics(
        _ request: SimulatorRequest,
        change: Result<TopicRequest, TopicError>,
        now: Int64
    ) -> SimulatorReply {
        do throws(TopicError) {
            let project = try credentials.topicProject(of: request, nowMs: callersTime(now))
            let change = try change.get()
            // Tokens beyond the second's rate are refused one by one; if the rate admits none, the whole request is.
            let allowed = topics.admit(change.tokens.count, project: project.id, nowMs: now)
            guard allowed > 0 else { throw .rate }
            return perform(change, allowed: allowed, now: now)
        } catch {
            return error == .rate ? retryable(error.reply, seconds: 1) : error.reply
        }
    }

    private mutating func perform(_ change: TopicRequest, allowed: Int, now: Int64) -> SimulatorReply {
        var results: [JSONValue] = []
        results.reserveCapacity(change.tokens.count)
        var delayMs: Int64 = 0
        var isLost = false
        for (index, token) in change.tokens.enumerated() {
            let error: String?
            if index >= allowed {
                error = "RESOURCE_EXHAUSTED"
            } else {
                let disturbance = topics.disturbance(of: token)
                delayMs = max(delayMs, disturbance.delayMs)
                isLost = isLost || disturbance.isLost
                let failure = topics.failure(of: token, isGone: devices.isGone(token, nowMs: now))
                error = failure?.topicWord ?? perform(change, on: token, now: now)
            }
            results.append(.object(error.map { ["error": .string($0)] } ?? JSONObject()))
        }
        var reply = SimulatorReply(object: ["results": .array(results)])
        reply.delayMs = delayMs
        if isLost { reply.wire = .reset(code: 2) }
        return reply
    }

    /// - Returns: the word for a limit that is reached; nil once the change is done.
    private mutating func perform(_ change: TopicRequest, on token: String, now: Int64) -> String? {
        guard change.isAdding else {
            topics.subscriptions.unsubscribe(token, from: change.topic)
            return nil
        }
        do throws(Subscriptions.LimitError) {
            try topics.subscriptions.subscribe(token, to: change.topic, nowMs: now)
            return nil
        } catch {
            return error == .tooManyTopics ? "TOO_MANY_TOPICS" : "INTERNAL"
        }
    }

    /// `/v1/projects/*/registrations/*/topicSubscriptions`.
    mutating func answerSubscriptions(
        _ request: SimulatorRequest,
        project: SimulatedProject?,
        change: Result<SubscriptionRequest, APIError>,
        now: Int64
    ) -> SimulatorReply {
        guard let project else { return APIError.projectNotFound.reply }
        do throws(APIError) {
            if let error = credentials.error(of: request, project: project, nowMs: callersTime(now)) {
                throw error
            }
            let change = try change.get()
            if change.operation.isChange {
                guard topics.admit(1, project: project.id, nowMs: now) > 0 else {
                    throw .subscriptionQuota(senderID: project.senderID)
                }
            }
            let token = change.registration
            if let failure = topics.failure(of: token, isGone: devices.isGone(token, nowMs: now)) {
                throw failure.apiError(token: token, field: "name")
            }
            var reply = SimulatorReply(object: try topics.perform(change, project: project.id, nowMs: now))
            let disturbance = topics.disturbance(of: token)
            reply.delayMs = disturbance.delayMs
            if disturbance.isLost { reply.wire = .reset(code: 2) }
            return reply
        } catch {
            let isRetryable = error.status.code == 429 || error.status.code >= 500
            return isRetryable ? retryable(error.reply, seconds: 1) : error.reply
        }
    }

    /// `GET /iid/info/*`: the app instance behind a token.
    mutating func answerInfo(
        _ request: SimulatorRequest,
        token: String,
        details: Bool,
        now: Int64
    ) -> SimulatorReply {
        do throws(TopicError) {
            let project = try credentials.topicProject(of: request, nowMs: callersTime(now))
            if let failure = topics.failure(of: token, isGone: devices.isGone(token, nowMs: now)) {
                throw failure.infoError
            }
            let device = devices[token]
            let platform: String
            switch device?.platform ?? TokenBehaviour(token).platform {
            case .android: platform = "ANDROID"
            case .apple: platform = "IOS"
            case .web: platform = "WEBPUSH"
            }
            var body: JSONObject = [
                "application": .string(device?.package ?? "com.example.app"),
                "authorizedEntity": .string(project.senderID), "platform": .string(platform), "scope": "*",
            ]
            if details {
                let names = topics.subscriptions.topics(of: token).sorted().map { topic -> JSONObject.Member in
                    let added = CalendarTime(unixMs: topics.subscriptions.createdMs(token, topic) ?? 0).date
                    return JSONObject.Member(key: topic, value: .object(["addDate": .string(added)]))
                }
                body["rel"] = .object(["topics": .object(JSONObject(names))])
            }
            return SimulatorReply(object: body)
        } catch {
            return error.reply
        }
    }
}
