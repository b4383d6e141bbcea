import FanfareJSON

/// `POST /devices`: one device, one group, or a number of anonymous subscribers.
extension Simulator {
    mutating func describe(_ object: JSONObject, now: Int64) -> SimulatorReply {
        let kinds = [
            ("token", DeviceRequest.names), ("group", ["group", "members", "names_all"]),
            ("topic", ["topic", "subscribers"]),
        ]
        let kind = kinds.first { object[$0.0] != nil }
        let known = kind?.1 ?? kinds.reduce(into: []) { $0.formUnion($1.1) }
        if let stranger = object.members.first(where: { !known.contains($0.key) }) {
            return Self.bad("\(stranger.key): unknown")
        }
        guard kind != nil else { return Self.bad("token, group or topic: one of them is required") }
        if object["token"] != nil { return putDevice(object, now: now) }
        if object["group"] != nil { return putGroup(object) }
        return addSubscribers(object)
    }

    private mutating func putDevice(_ object: JSONObject, now: Int64) -> SimulatorReply {
        do throws(DeviceRequest.Refusal) {
            try put(try DeviceRequest(object), now: now)
            return Self.done
        } catch {
            return Self.bad(error.reason)
        }
    }

    private mutating func put(_ request: DeviceRequest, now: Int64) throws(DeviceRequest.Refusal) {
        let token = request.token
        guard devices.successor(of: token) == nil else {
            throw DeviceRequest.Refusal("token: was replaced; describe the one it was refreshed to")
        }
        let before = devices[token] ?? Devices.Device(platform: TokenBehaviour(token).platform)
        let device = try request.applied(to: before, nowMs: now)
        if let new = request.refreshedTo, devices.isTaken(new) {
            throw DeviceRequest.Refusal("refreshed_to: a device already")
        }
        guard devices.put(token, device) else { throw DeviceRequest.Refusal("at most \(Devices.most) devices") }
        if let topics = request.topics { try resubscribe(token, to: topics) }
        var instance = token
        if let new = request.refreshedTo {
            guard devices.replace(token, by: new, worksUntilMs: now + request.oldTokenWorksMs) else {
                throw DeviceRequest.Refusal("at most \(Devices.most) devices")
            }
            try moveBelongings(of: token, to: new)
            instance = new
        }
        emptyQueue(instance, now: now)
    }

    private mutating func resubscribe(_ token: String, to topics: Set<String>) throws(DeviceRequest.Refusal) {
        for topic in subscriptions.topics(of: token).subtracting(topics) {
            subscriptions.unsubscribe(token, from: topic)
        }
        do throws(Subscriptions.Refusal) {
            for topic in topics { try subscriptions.subscribe(token, to: topic) }
        } catch {
            throw DeviceRequest.Refusal("at most \(Subscriptions.mostTokens) subscribed tokens")
        }
    }

    /// Whatever FCM keeps is kept of the app instance, which has another token now.
    private mutating func moveBelongings(of old: String, to new: String) throws(DeviceRequest.Refusal) {
        let topics = subscriptions.topics(of: old)
        try resubscribe(old, to: [])
        try resubscribe(new, to: topics)
        throttle.rename(old, to: new)
        buckets.rename(old, to: new)
        // The caller opens it next, and so it gets its due time.
        if let box = queues.take(old) { queues.put(new, box, dueMs: nil) }
    }

    private mutating func putGroup(_ object: JSONObject) -> SimulatorReply {
        guard let key = object["group"]?.string, Recipients.isToken(key) else { return Self.bad("group: its key") }
        let list = object["members"]?.array ?? []
        let members = list.compactMap(\.string)
        guard object["members"]?.array != nil, members.count == list.count, members.count <= Groups.mostMembers,
            members.allSatisfy(Recipients.isToken)
        else { return Self.bad("members: at most \(Groups.mostMembers) tokens") }
        let namesAll = object["names_all"].map(\.bool) ?? false
        guard let namesAll else { return Self.bad("names_all: true or false") }
        return groups.describe(key, members: members, namesAll: namesAll)
            ? Self.done : Self.bad("at most \(Groups.most) groups")
    }

    private mutating func addSubscribers(_ object: JSONObject) -> SimulatorReply {
        guard let topic = object["topic"]?.string, Recipients.isTopic(topic) else {
            return Self.bad("topic: a topic's name")
        }
        guard let count = object["subscribers"]?.number?.int64, count >= 0, count <= Int64(Subscriptions.mostAnonymous),
            subscriptions.addAnonymous(Int(count), to: topic)
        else { return Self.bad("subscribers: at most \(Subscriptions.mostAnonymous) of one topic") }
        return Self.done
    }

    /// What became of each project's windows, oldest first.
    var quotaReport: JSONValue {
        func number(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
        let members = quotas.sorted { $0.key < $1.key }.map { (project, quota) -> JSONObject.Member in
            let windows = quota.uses.map { use -> JSONValue in
                .object([
                    "started_ms": number(use.startedMs), "used": number(Int64(use.used)),
                    "refused": number(Int64(use.refused)),
                ])
            }
            let report: JSONObject = ["limit": number(Int64(quota.limit)), "windows": .array(windows)]
            return JSONObject.Member(key: project, value: .object(report))
        }
        return .object(JSONObject(members))
    }
}
