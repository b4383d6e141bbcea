import FanfareJSON
import FanfareModel

/// Topic subscriptions as HTTP v1 has them.
extension Topics {
    /// Performs a change or answers a question about one registration.
    mutating func perform(
        _ request: SubscriptionRequest,
        project: String,
        nowMs: Int64
    ) throws(APIError) -> JSONObject {
        let token = request.registration
        let subscribed = subscriptions.topics(of: token)
        switch request.operation {
        case .create(let topic):
            guard !subscribed.contains(topic) else { throw .subscriptionExists }
            return try create(token, topic, project: project, nowMs: nowMs)
        case .upsert(let topic, let allowMissing):
            if subscribed.contains(topic) { return view(token, topic, project: project) }
            guard allowMissing else { throw .subscriptionNotFound }
            return try create(token, topic, project: project, nowMs: nowMs)
        case .delete(let topic, let allowMissing):
            guard allowMissing || subscribed.contains(topic) else { throw .subscriptionNotFound }
            subscriptions.unsubscribe(token, from: topic)
            return JSONObject()
        case .get(let topic):
            guard subscribed.contains(topic) else { throw .subscriptionNotFound }
            return view(token, topic, project: project)
        case .list(let size, let after):
            let rest = subscribed.filter { topic in after.map { topic > $0 } ?? true }.sorted()
            let page = rest.prefix(size)
            let views = page.map { JSONValue.object(view(token, $0, project: project)) }
            var body: JSONObject = ["topicSubscriptions": .array(views)]
            if let last = page.last, rest.count > page.count {
                body["nextPageToken"] = .string(PageToken.make(after: last))
            }
            return body
        }
    }

    private mutating func create(
        _ token: String,
        _ topic: String,
        project: String,
        nowMs: Int64
    ) throws(APIError) -> JSONObject {
        do throws(Subscriptions.LimitError) {
            try subscriptions.subscribe(token, to: topic, nowMs: nowMs)
        } catch {
            throw error == .tooManyTopics ? .tooManyTopics : .internalError
        }
        return view(token, topic, project: project)
    }

    private func view(_ token: String, _ topic: String, project: String) -> JSONObject {
        var object: JSONObject = [
            "name": .string("projects/\(project)/registrations/\(token)/topicSubscriptions/\(topic)"),
            "topicName": .string(topic),
        ]
        if let time = subscriptions.createdMs(token, topic) {
            object["createTime"] = .string(CalendarTime(unixMs: time).rfc3339)
        }
        return object
    }
}
