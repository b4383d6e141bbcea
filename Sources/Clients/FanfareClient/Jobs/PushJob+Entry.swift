internal import FanfareJSON
internal import FanfareModel
public import StreamWire

extension PushJob {
    /// The fields of the stream entry, in the order of the documentation, without fields that have their default.
    public var fields: [(name: String, value: [UInt8])] {
        var fields: [(name: String, value: [UInt8])] = []
        func add(_ name: String, _ value: String?) {
            if let value { fields.append((name, Array(value.utf8))) }
        }
        if operation == .send {
            fields.append(targetField)
            fields.append(("message", message))
        } else {
            add("op", operation.rawValue)
            fields += managementFields
        }
        if format != .v1 { add("format", format.rawValue) }
        add("id", id)
        add("priority", priority.map(String.init))
        add("not_before", notBefore.map(String.init))
        add("expires_at", expiresAt.map(String.init))
        if validateOnly { add("validate_only", "1") }
        if results != .unsaid { add("results", results.rawValue) }
        add("delivery", delivery?.rawValue)
        add("audience_size", audienceSize.map(String.init))
        add("audience_format", audienceFormat?.rawValue)
        if let variants { fields.append(("variants", variants)) }
        add("rate", guards.ratePerMinute.map(String.init))
        add("canary", guards.canary)
        add("canary_wait_ms", guards.canaryWaitMs.map(String.init))
        add("stop_if", guards.stopIf)
        add("send_window", guards.sendWindow)
        add("traceparent", traceparent)
        add("tracestate", tracestate)
        return fields
    }

    /// The first time that is in another unit than milliseconds, as `field: rule; remedy`; nil if there is none.
    var timeFault: String? {
        for (field, time) in [("not_before", notBefore), ("expires_at", expiresAt)] {
            if let time, let fault = Job.timeFault(String(time)) { return "\(field): \(fault)" }
        }
        return nil
    }

    private var targetField: (name: String, value: [UInt8]) {
        switch target {
        case .tokens(let tokens): return list("token", tokens)
        case .fids(let fids): return list("fid", fids)
        case .topic(let topic): return ("topic", Array(topic.utf8))
        case .condition(let condition): return ("condition", Array(condition.utf8))
        case .group(let key): return ("group", Array(key.utf8))
        case .audience(let key): return ("audience", Array(key.utf8))
        case .recipients(let elements): return ("recipients", Self.joined(elements))
        }
    }

    private var managementFields: [(name: String, value: [UInt8])] {
        if case .tokens(let tokens) = target {
            let topic = operation.isSubscription ? [("topic", Array(management.topic.utf8))] : []
            return topic + [("tokens", Self.array(tokens))]
        }
        var fields = [("group_name", Array(management.groupName.utf8))]
        if case .group(let key) = target, operation == .groupAdd || operation == .groupRemove {
            fields.append(("group", Array(key.utf8)))
        }
        if operation != .groupGet { fields.append(("tokens", Self.array(management.members))) }
        return fields
    }

    /// Workers refuse the guards of a list beside a single recipient's field.
    private func list(_ name: String, _ members: RecipientList) -> (name: String, value: [UInt8]) {
        var listGuards = guards
        listGuards.sendWindow = nil
        let isSingle = members.count == 1 && listGuards.isEmpty
        return isSingle ? (name, Array(members[0].utf8)) : (name + "s", Self.array(members))
    }

    /// The array of elements that are JSON already.
    private static func joined(_ elements: RecipientList) -> [UInt8] {
        var json: [UInt8] = [UInt8(ascii: "[")]
        json.reserveCapacity(elements.byteCount + 2)
        for index in elements.indices {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            json.append(contentsOf: elements.shared(index).bytes)
        }
        json.append(UInt8(ascii: "]"))
        return json
    }

    private static func array(_ members: some Sequence<String>) -> [UInt8] {
        var json: [UInt8] = [UInt8(ascii: "[")]
        for (index, member) in members.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            json.appendJSONString(member)
        }
        json.append(UInt8(ascii: "]"))
        return json
    }

    /// The `XADD` that pushes this job. Its reply is the entry's id, which is the job's when ``id`` is nil.
    public func command(project: String, prefix: String = "fanfare") -> RedisCommand {
        Self.command(fields, to: ProjectKeys(prefix: prefix, project: project))
    }

    static func command(_ fields: [(name: String, value: [UInt8])], to keys: ProjectKeys) -> RedisCommand {
        var command = RedisCommand("XADD", keys.jobs, "*")
        for field in fields {
            command.append(field.name)
            command.append(field.value)
        }
        return command
    }
}
