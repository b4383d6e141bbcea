import FanfareJSON

/// `POST /devices`: one device, one group, or a number of anonymous subscribers.
extension Simulator {
    mutating func describe(_ object: JSONObject) -> SimulatorReply {
        let known: Set<String>
        if object["token"] != nil {
            known = ["token", "platform", "state", "package", "topics"]
        } else if object["group"] != nil {
            known = ["group", "members"]
        } else {
            known = ["topic", "subscribers"]
        }
        if let stranger = object.members.first(where: { !known.contains($0.key) }) {
            return Self.bad("\(stranger.key): unknown")
        }
        if object["token"] != nil { return putDevice(object) }
        if object["group"] != nil { return putGroup(object) }
        return addSubscribers(object)
    }

    private mutating func putDevice(_ object: JSONObject) -> SimulatorReply {
        guard let token = object["token"]?.string, Recipients.isToken(token) else { return Self.bad("token: a token") }
        var device = devices[token] ?? Devices.Device(platform: TokenBehaviour(token).platform)
        if let value = object["platform"] {
            guard let platform = value.string.flatMap(Platform.init(rawValue:)) else {
                return Self.bad("platform: android, apple or web")
            }
            device.platform = platform
        }
        if let value = object["state"] {
            guard let state = value.string.flatMap(Devices.Device.State.init(rawValue:)) else {
                return Self.bad("state: healthy, unregistered or disabled")
            }
            device.state = state
        }
        if let value = object["package"] {
            guard let package = value.string, package.utf8.count <= 255 else { return Self.bad("package: a string") }
            device.package = package
        }
        var topics: Set<String>?
        if let value = object["topics"] {
            let names = value.array?.compactMap(\.string) ?? []
            guard let array = value.array, names.count == array.count, names.count <= Subscriptions.mostTopics,
                names.allSatisfy(Recipients.isTopic)
            else { return Self.bad("topics: at most \(Subscriptions.mostTopics) topic names") }
            topics = Set(names)
        }
        guard devices.put(token, device) else { return Self.bad("at most \(Devices.most) devices") }
        guard let topics else { return Self.done }
        for topic in subscriptions.topics(of: token).subtracting(topics) {
            subscriptions.unsubscribe(token, from: topic)
        }
        do throws(Subscriptions.Refusal) {
            for topic in topics { try subscriptions.subscribe(token, to: topic) }
            return Self.done
        } catch {
            return Self.bad("at most \(Subscriptions.mostTokens) subscribed tokens")
        }
    }

    private mutating func putGroup(_ object: JSONObject) -> SimulatorReply {
        guard let key = object["group"]?.string, Recipients.isToken(key) else { return Self.bad("group: its key") }
        let list = object["members"]?.array ?? []
        let members = list.compactMap(\.string)
        guard object["members"]?.array != nil, members.count == list.count, members.count <= Groups.mostMembers,
            members.allSatisfy(Recipients.isToken)
        else { return Self.bad("members: at most \(Groups.mostMembers) tokens") }
        return groups.describe(key, members: members) ? Self.done : Self.bad("at most \(Groups.most) groups")
    }

    private mutating func addSubscribers(_ object: JSONObject) -> SimulatorReply {
        guard let topic = object["topic"]?.string, Recipients.isTopic(topic) else {
            return Self.bad("token, group or topic: one of them")
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
