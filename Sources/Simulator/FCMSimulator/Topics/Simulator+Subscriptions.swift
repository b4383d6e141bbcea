import FanfareJSON
internal import FanfareModel

/// Topic subscriptions as HTTP v1 has them, and what the Instance ID service tells of a token.
extension Simulator {
    mutating func answerSubscriptions(
        _ request: SimulatorRequest,
        project: SimulatedProject?,
        change: Result<SubscriptionRequest, APIError>,
        now: Int64
    ) -> SimulatorReply {
        guard let project else { return APIError.projectNotFound.reply }
        do throws(APIError) {
            if let refusal = credentialRefusal(request, project: project, now: now) { throw refusal }
            let change = try change.get()
            if change.operation.isChange {
                guard takeTopicOperations(1, project: project, now: now) > 0 else {
                    throw APIError.subscriptionQuota(senderID: project.senderID, limit: Self.topicOperationsPerSecond)
                }
            }
            if let refusal = subscriptionRefusal(change.registration, now: now) { throw refusal }
            let json = try apply(change, project: project, now: now)
            var reply = SimulatorReply(status: 200, json: json.jsonBytes)
            switch TokenBehaviour(change.registration) {
            case .slow(let milliseconds): reply.delayMs = milliseconds
            case .lost(let times) where stillFails("topics:" + change.registration, times: times):
                reply.wire = .reset(code: 2)
            default: break
            }
            return reply
        } catch {
            let isRetryable = error.code == 429 || error.code >= 500
            return isRetryable && !configuration.bareErrors ? error.reply.adding("retry-after", "1") : error.reply
        }
    }

    /// What fits into the second; both APIs draw on it.
    mutating func takeTopicOperations(_ count: Int, project: SimulatedProject, now: Int64) -> Int {
        let window = QuotaWindow(limit: Self.topicOperationsPerSecond, lengthMs: 1_000)
        return topicQuotas[project.id, default: window].takeSome(count, nowMs: now)
    }

    /// The same verdict that the Instance ID API gives, as HTTP v1 words it, which has two words for a refused permission.
    private mutating func subscriptionRefusal(_ token: String, now: Int64) -> APIError? {
        switch topicRefusal(of: token, now: now) {
        case nil: return nil
        case "NOT_FOUND": return .unregistered
        case "PERMISSION_DENIED": return TokenBehaviour(token) == .auth ? .thirdPartyAuth : .senderMismatch
        case "DEADLINE_EXCEEDED": return .unavailable
        case "INTERNAL": return .internalError
        case "RESOURCE_EXHAUSTED": return .quotaExceeded
        default: return .invalidRecipient(field: "name")
        }
    }

    private mutating func apply(
        _ change: SubscriptionRequest,
        project: SimulatedProject,
        now: Int64
    ) throws(APIError) -> JSONValue {
        let token = change.registration
        switch change.operation {
        case .create(let topic):
            guard !subscriptions.topics(of: token).contains(topic) else { throw .subscriptionExists }
            return try subscribe(token, to: topic, project: project, now: now)
        case .upsert(let topic, let allowMissing):
            if subscriptions.topics(of: token).contains(topic) {
                return view(token, topic, project: project)
            }
            guard allowMissing else { throw .subscriptionNotFound }
            return try subscribe(token, to: topic, project: project, now: now)
        case .delete(let topic, let allowMissing):
            guard allowMissing || subscriptions.topics(of: token).contains(topic) else { throw .subscriptionNotFound }
            subscriptions.unsubscribe(token, from: topic)
            return .object(JSONObject())
        case .get(let topic):
            guard subscriptions.topics(of: token).contains(topic) else { throw .subscriptionNotFound }
            return view(token, topic, project: project)
        case .list(let size, let after):
            let rest = subscriptions.topics(of: token).filter { topic in after.map { topic > $0 } ?? true }.sorted()
            let page = rest.prefix(size)
            var body: JSONObject = [
                "topicSubscriptions": .array(page.map { view(token, $0, project: project) })
            ]
            if let last = page.last, rest.count > page.count {
                body["nextPageToken"] = .string(PageToken.make(after: last))
            }
            return .object(body)
        }
    }

    private mutating func subscribe(
        _ token: String,
        to topic: String,
        project: SimulatedProject,
        now: Int64
    ) throws(APIError) -> JSONValue {
        do throws(Subscriptions.Refusal) {
            try subscriptions.subscribe(token, to: topic, nowMs: now)
        } catch {
            throw error == .tooManyTopics ? .tooManyTopics : .internalError
        }
        return view(token, topic, project: project)
    }

    private func view(_ token: String, _ topic: String, project: SimulatedProject) -> JSONValue {
        var object: JSONObject = [
            "name": .string("projects/\(project.id)/registrations/\(token)/topicSubscriptions/\(topic)"),
            "topicName": .string(topic),
        ]
        if let time = subscriptions.createdMs(token, topic) {
            object["createTime"] = .string(CalendarTime(unixMs: time).rfc3339)
        }
        return .object(object)
    }

    // MARK: The Instance ID service's own view

    mutating func answerInfo(
        _ request: SimulatorRequest,
        token: String,
        details: Bool,
        now: Int64
    ) -> SimulatorReply {
        do throws(TopicRefusal) {
            let project = try topicProject(request, now: now)
            switch topicRefusal(of: token, now: now) {
            case nil: break
            case "INVALID_ARGUMENT": throw TopicRefusal(status: 400, word: "InvalidToken")
            case "NOT_FOUND": throw TopicRefusal(status: 404, word: "No information found about this instance id.")
            case "PERMISSION_DENIED": throw .forbidden
            case "RESOURCE_EXHAUSTED": throw .rate
            default: throw TopicRefusal(status: 500, word: "INTERNAL")
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
                let topics = subscriptions.topics(of: token).sorted().map { topic -> JSONObject.Member in
                    let added =
                        subscriptions.createdMs(token, topic).map { CalendarTime(unixMs: $0).date } ?? "1970-01-01"
                    return JSONObject.Member(key: topic, value: .object(["addDate": .string(added)]))
                }
                body["rel"] = .object(["topics": .object(JSONObject(topics))])
            }
            return SimulatorReply(status: 200, json: JSONValue.object(body).jsonBytes)
        } catch {
            return error.reply
        }
    }
}

extension APIError {
    static let subscriptionExists = APIError(
        code: 409,
        status: "ALREADY_EXISTS",
        message: "Requested entity already exists"
    )

    static let subscriptionNotFound = APIError(
        code: 404,
        status: "NOT_FOUND",
        message: "Requested entity was not found."
    )

    /// How the live service words it is not known; the reason is the one of the Instance ID API.
    static let tooManyTopics = APIError(
        code: 400,
        status: "FAILED_PRECONDITION",
        message: "The registration has too many topic subscriptions.",
        info: Info(reason: "TOO_MANY_TOPICS", domain: "fcm.googleapis.com")
    )

    static func subscriptionQuota(senderID: String, limit: Int) -> APIError {
        APIError(
            code: 429,
            status: "RESOURCE_EXHAUSTED",
            message: "Quota exceeded for quota metric 'Topic subscription requests' and limit 'Topic subscription "
                + "requests per second' of service 'fcm.googleapis.com' for consumer 'project_number:\(senderID)'.",
            info: Info(
                reason: "RATE_LIMIT_EXCEEDED",
                metadata: [
                    "consumer": "projects/" + senderID, "service": "fcm.googleapis.com",
                    "quota_metric": "fcm.googleapis.com/topic_subscription_requests",
                    "quota_limit_value": String(limit),
                ]
            )
        )
    }
}
