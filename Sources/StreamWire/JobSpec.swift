public import FanfareModel

/// What a worker needs to know of a job to send for it: written at intake, read by whoever claims a batch.
public struct JobSpec: Equatable, Sendable {
    public var operation: Operation
    public var kind: RecipientKind
    public var message: [UInt8]
    public var format: MessageFormat
    public var delivery: DeliveryMode
    /// As the producer said it; see ``ResultsPolicy/resolved(total:)``.
    public var results: ResultsPolicy
    public var validateOnly: Bool
    public var expiresAt: Int64
    public var total: Int
    public var priority: Int
    /// Since when its recipients may be sent to, Unix ms: the job's push, or its `not_before`; 0 when not known.
    public var sinceMs: Int64 = 0
    public var traceparent: String?
    public var tracestate: String?
    /// The bare name of the topic that a subscription is for; empty otherwise.
    public var subscription: String
    /// The name of the group that an operation is for; empty otherwise.
    public var groupName: String
    /// The key of that group; empty where it is only to be learned.
    public var groupKey: String
    /// The tokens that an operation on a group is for.
    public var members: [String]

    public init(job: Job, total: Int) {
        operation = job.operation
        kind = job.target.kind
        message = job.message
        format = job.format
        delivery = job.delivery
        results = job.results
        validateOnly = job.validateOnly
        expiresAt = job.expiresAt
        priority = job.priority
        let pushedMs = job.entryID.split(separator: "-").first.flatMap { Int64($0) } ?? 0
        sinceMs = max(pushedMs, job.notBefore)
        traceparent = job.traceparent
        tracestate = job.tracestate
        subscription = job.subscription
        groupName = job.groupName
        groupKey = ""
        if job.operation.isGroupOperation, case .group(let key) = job.target { groupKey = key }
        members = job.members
        self.total = total
    }

    /// Reads the flat hash; nil when a field that must be there is missing or wrong, which no version of ours writes.
    public init?(_ value: RedisValue) {
        guard let flat = value.array, flat.count.isMultiple(of: 2) else { return nil }
        var map: [String: RedisValue] = [:]
        for index in stride(from: 0, to: flat.count, by: 2) {
            if let name = flat[index].string { map[name] = flat[index + 1] }
        }
        guard let kind = map["kind"]?.string.flatMap({ RecipientKind(rawValue: $0) }),
            let message = map["message"]?.bytes,
            let total = map["total"]?.integer,
            let format = MessageFormat(rawValue: map["format"]?.string ?? MessageFormat.v1.rawValue),
            let delivery = DeliveryMode(rawValue: map["delivery"]?.string ?? DeliveryMode.atLeastOnce.rawValue),
            let results = ResultsPolicy(rawValue: map["results"]?.string ?? ResultsPolicy.unsaid.rawValue),
            let operation = Operation(rawValue: map["op"]?.string ?? Operation.send.rawValue)
        else { return nil }
        self.operation = operation
        self.kind = kind
        self.message = message
        self.format = format
        self.delivery = delivery
        self.results = results
        self.total = Int(total)
        validateOnly = map["validate_only"]?.string == "1"
        expiresAt = map["expires_at"]?.integer ?? 0
        priority = Int(map["priority"]?.integer ?? 5)
        sinceMs = map["since"]?.integer ?? 0
        traceparent = map["traceparent"]?.string
        tracestate = map["tracestate"]?.string
        subscription = map["subscription"]?.string ?? ""
        groupName = map["group_name"]?.string ?? ""
        groupKey = map["group"]?.string ?? ""
        members = (map["members"]?.string ?? "").split(separator: "\n").map(String.init)
    }

    /// What ``IntakeCall`` writes. `total` and `audience` are written by the function itself; what a producer left unsaid
    /// is not written, since each field costs as much again in Redis as the bytes of a short one.
    var pairs: [(String, [UInt8])] {
        var pairs: [(String, [UInt8])] = [
            ("kind", Array(kind.rawValue.utf8)), ("message", message), ("since", Array(String(sinceMs).utf8)),
        ]
        if format != .v1 { pairs.append(("format", Array(format.rawValue.utf8))) }
        if delivery != .atLeastOnce { pairs.append(("delivery", Array(delivery.rawValue.utf8))) }
        if results != .unsaid { pairs.append(("results", Array(results.rawValue.utf8))) }
        if validateOnly { pairs.append(("validate_only", [0x31])) }
        if expiresAt != 0 { pairs.append(("expires_at", Array(String(expiresAt).utf8))) }
        if priority != 5 { pairs.append(("priority", Array(String(priority).utf8))) }
        if let traceparent { pairs.append(("traceparent", Array(traceparent.utf8))) }
        if let tracestate { pairs.append(("tracestate", Array(tracestate.utf8))) }
        guard operation != .send else { return pairs }
        pairs.append(("op", Array(operation.rawValue.utf8)))
        let texts = [
            ("subscription", subscription), ("group_name", groupName), ("group", groupKey),
            ("members", members.joined(separator: "\n")),
        ]
        for (name, text) in texts where !text.isEmpty { pairs.append((name, Array(text.utf8))) }
        return pairs
    }
}
