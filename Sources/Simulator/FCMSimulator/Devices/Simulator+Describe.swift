import FanfareJSON

/// `POST /devices`: describes one device, one group, or a number of anonymous subscribers.
extension Simulator {
    mutating func describe(_ object: JSONObject, now: Int64) -> SimulatorReply {
        let kinds = [
            ("token", DeviceRequest.names), ("group", ["group", "members", "names_all"]),
            ("topic", ["topic", "subscribers"]),
        ]
        let kind = kinds.first { object[$0.0] != nil }
        let known = kind?.1 ?? kinds.reduce(into: []) { $0.formUnion($1.1) }
        if let reply = Self.refusal(of: object, known: known) { return reply }
        switch kind?.0 {
        case "token":
            do throws(DeviceRequest.Refusal) {
                try put(try DeviceRequest(object), now: now)
                return Self.done
            } catch {
                return Self.bad(error.reason)
            }
        case "group": return putGroup(object)
        case "topic": return addSubscribers(object)
        default: return Self.bad("token, group or topic: one of them is required")
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
        if let names = request.topics {
            try limited { (topics) throws(Subscriptions.Refusal) in try topics.replaceTopics(of: token, with: names) }
        }
        if let new = request.refreshedTo {
            guard devices.replace(token, by: new, worksUntilMs: now + request.oldTokenWorksMs) else {
                throw DeviceRequest.Refusal("at most \(Devices.most) devices")
            }
            // FCM keeps everything for the app instance, which has another token now.
            try limited { (topics) throws(Subscriptions.Refusal) in try topics.rename(token, to: new) }
            messages.rename(token, to: new)
        }
        messages.flush(request.refreshedTo ?? token, of: &devices, ids: &ids, nowMs: now)
    }

    private mutating func limited(
        _ change: (inout Topics) throws(Subscriptions.Refusal) -> Void
    ) throws(DeviceRequest.Refusal) {
        do throws(Subscriptions.Refusal) {
            try change(&topics)
        } catch {
            throw DeviceRequest.Refusal("at most \(Subscriptions.mostTokens) subscribed tokens")
        }
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
            topics.addAnonymous(Int(count), to: topic)
        else { return Self.bad("subscribers: at most \(Subscriptions.mostAnonymous) of one topic") }
        return Self.done
    }
}
