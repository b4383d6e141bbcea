import FanfareJSON

/// `POST /devices`: describes one device, one group, or a number of anonymous subscribers.
extension Simulator {
    mutating func describe(_ object: JSONObject, now: Int64) throws(ControlError) {
        let kinds = [
            ("token", DeviceRequest.names), ("group", ["group", "members", "names_all"]),
            ("topic", ["topic", "subscribers"]),
        ]
        let kind = kinds.first { object[$0.0] != nil }
        try object.refuseNames(except: kind?.1 ?? kinds.reduce(into: []) { $0.formUnion($1.1) })
        switch kind?.0 {
        case "token": try put(try DeviceRequest(object), now: now)
        case "group": try putGroup(object)
        case "topic": try addSubscribers(object)
        default: throw ControlError("token, group or topic: one of them is required")
        }
    }

    private mutating func put(_ request: DeviceRequest, now: Int64) throws(ControlError) {
        let token = request.token
        guard devices.successor(of: token) == nil else {
            throw ControlError("token: was replaced; describe the one it was refreshed to")
        }
        let before = devices[token] ?? Devices.Device(platform: TokenBehaviour(token).platform)
        let device = try request.applied(to: before, nowMs: now)
        if let new = request.refreshedTo, devices.instance(new, nowMs: now) != .unknown {
            throw ControlError("refreshed_to: a device already")
        }
        guard devices.put(token, device) else { throw ControlError("at most \(Devices.most) devices") }
        // FCM keeps everything for the app instance when it gets another token.
        if let new = request.refreshedTo {
            guard devices.replace(token, by: new, worksUntilMs: now + request.oldTokenWorksMs) else {
                throw ControlError("at most \(Devices.most) devices")
            }
            messages.rename(token, to: new)
        }
        do throws(Subscriptions.LimitError) {
            if let names = request.topics { try topics.replaceTopics(of: token, with: names) }
            if let new = request.refreshedTo { try topics.rename(token, to: new) }
        } catch {
            throw ControlError("at most \(Subscriptions.maximumTokens) subscribed tokens")
        }
        messages.flush(request.refreshedTo ?? token, of: &devices, ids: &ids, nowMs: now)
    }

    private mutating func putGroup(_ object: JSONObject) throws(ControlError) {
        guard let key = object["group"]?.string, Recipients.isToken(key) else { throw ControlError("group: its key") }
        let rule = "members: at most \(Groups.maximumMembers) tokens"
        let members = try object.strings("members", most: Groups.maximumMembers, orElse: rule, Recipients.isToken)
        guard let members else { throw ControlError(rule) }
        guard groups.describe(key, members: members, namesAll: try object.bool("names_all") ?? false) else {
            throw ControlError("at most \(Groups.most) groups")
        }
    }

    private mutating func addSubscribers(_ object: JSONObject) throws(ControlError) {
        guard let topic = object["topic"]?.string, Recipients.isTopic(topic) else {
            throw ControlError("topic: a topic's name")
        }
        let most = Subscriptions.maximumAnonymous
        let rule = "subscribers: at most \(most) of one topic"
        guard let count = try object.integer("subscribers", 0...Int64(most), orElse: rule),
            topics.subscriptions.addAnonymous(Int(count), to: topic)
        else { throw ControlError(rule) }
    }
}
