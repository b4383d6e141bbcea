import FCMSimulator
import FCMWire
import FanfareJSON
import FanfareModel
import Testing

/// Groups and subscriptions: what a job asks for, the request that becomes of it, and the verdict on the answer.
extension Scene {
    /// - Parameters:
    ///   - name: of the group.
    ///   - key: empty for create and get.
    mutating func group(_ op: Operation, name: String, key: String = "", _ tokens: [String] = []) throws -> Verdict {
        var fields = ["op": op.rawValue, "group_name": name]
        if !key.isEmpty { fields["group"] = key }
        if op != .groupGet { fields["tokens"] = JSONValue.array(tokens.map { .string($0) }).jsonText }
        let job = try intake(fields)
        let request = GroupOperation.request(op, name: job.groupName, key: key, tokens: job.members)
        reply = perform(request, authorization: "key=" + Self.project.serverKey)
        return GroupOperation.verdict(reply.outcome, op: op, key: key, nowMs: nowMs, canRefresh: false)
    }

    /// - Returns: the new group's key.
    mutating func makeGroup(_ name: String, _ tokens: [String]) throws -> String {
        let verdict = try group(.groupCreate, name: name, tokens)
        guard case .managed(let key) = verdict else {
            Issue.record("\(verdict)")
            return ""
        }
        return key
    }

    /// Subscribes or unsubscribes tokens in one request of the Instance ID service.
    mutating func change(_ op: Operation, topic: String, _ tokens: [String]) throws -> [Verdict] {
        let list = JSONValue.array(tokens.map { .string($0) }).jsonText
        let job = try intake(["op": op.rawValue, "topic": topic, "tokens": list])
        var body: [UInt8] = []
        TopicBatch.body(topic: job.subscription, tokens: tokens, into: &body)
        let request = WireRequest(path: TopicBatch.path(op), body: body)
        reply = perform(request, authorization: "Bearer " + accessToken)
        return TopicBatch.verdicts(reply.outcome, tokens: tokens, nowMs: nowMs)
    }

    mutating func perform(
        _ request: WireRequest,
        authorization: String,
        projectID: String? = Scene.project.senderID
    ) -> SimulatorReply {
        let parts = request.path.split(separator: "?", maxSplits: 1)
        let sent = SimulatorRequest(
            method: request.method.rawValue,
            path: String(parts[0]),
            query: parts.count > 1 ? String(parts[1]) : "",
            authorization: authorization,
            contentType: "application/json",
            accessTokenAuth: authorization.hasPrefix("Bearer"),
            projectIDHeader: projectID,
            body: request.body
        )
        return simulator.respond(to: ReadRequest(sent), nowMs: nowMs)
    }
}
