public import FanfareModel

extension FunctionLibrary {
    /// Asks for a job's ``JobSpec``; the answer is empty when the job is over.
    public static func spec(_ keys: ProjectKeys, job: String) -> RedisCommand { call("spec", keys, ["id": job]) }
}

/// What a worker needs to send for a job: written by intake, read by each worker that claims a batch.
public struct JobSpec: Equatable, Sendable {
    public var operation: Operation
    public var kind: RecipientKind
    public var message: [UInt8]
    public var format: MessageFormat
    public var delivery: DeliveryMode
    /// As the producer gave it; see ``ResultsPolicy/resolved(total:)``.
    public var results: ResultsPolicy
    public var validateOnly: Bool
    public var expiresAt: Int64
    public var total: Int
    public var priority: Int
    /// Since when its recipients may be sent to, Unix ms: the job's push, or its `not_before`; 0 when not known.
    public var sinceMs: Int64 = 0
    /// When the job was pushed, Unix ms. Of a scheduled job it is stored only beside ``traceparent``; else ``sinceMs``.
    public var pushedMs: Int64 = 0
    public var traceparent: String?
    public var tracestate: String?
    /// The bare name of the topic that a subscription is for; empty otherwise.
    public var subscription: String
    /// The name of the group that an operation is for; empty otherwise.
    public var groupName: String
    /// The key of that group; empty while it is not known.
    public var groupKey = ""
    /// The tokens that an operation on a group is for.
    public var members: [String]
    /// Whether each recipient is a JSON object with values of its own.
    public var isPersonal = false
    /// The field `variants` of a personal job; nil without it.
    public var variants: [UInt8]?
    public var guards = JobGuards()

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
        let pushedMs = DecimalText.parse(job.entryID.utf8.prefix { $0 != UInt8(ascii: "-") }) ?? 0
        sinceMs = max(pushedMs, job.notBefore)
        self.pushedMs = job.traceparent == nil ? sinceMs : pushedMs
        traceparent = job.traceparent
        tracestate = job.tracestate
        subscription = job.subscription
        groupName = job.groupName
        if job.operation.isGroupOperation, case .group(let key) = job.target { groupKey = key }
        members = job.members
        isPersonal = job.isPersonal
        variants = job.variants
        guards = job.guards
        self.total = total
    }

    /// Reads the hash; nil when a required field is missing or wrong.
    public init?(_ value: RedisValue) {
        guard let map = NamedValues(value), let kind = map.text("kind").flatMap(Self.kind),
            let message = map["message"]?.bytes, let total = map.number("total"),
            let format = MessageFormat(rawValue: map.text("format") ?? MessageFormat.v1.rawValue),
            let delivery = DeliveryMode(rawValue: map.text("delivery") ?? DeliveryMode.atLeastOnce.rawValue),
            let results = ResultsPolicy(rawValue: map.text("results") ?? ResultsPolicy.unsaid.rawValue),
            let operation = Operation(rawValue: map.text("op") ?? Operation.send.rawValue)
        else { return nil }
        self.operation = operation
        self.kind = kind
        self.message = message
        self.format = format
        self.delivery = delivery
        self.results = results
        self.total = Int(total)
        validateOnly = map.flag("validate_only")
        expiresAt = map.number("expires_at") ?? 0
        priority = Int(map.number("priority") ?? Int64(Job.usualPriority))
        sinceMs = map.number("since") ?? 0
        pushedMs = map.number("pushed") ?? sinceMs
        traceparent = map.text("traceparent")
        tracestate = map.text("tracestate")
        subscription = map.text("subscription") ?? ""
        groupName = map.text("group_name") ?? ""
        groupKey = map.text("group") ?? ""
        members = (map.text("members") ?? "").split(separator: "\n").map(String.init)
        isPersonal = map.flag("personal")
        variants = map["variants"]?.bytes
        guards.ratePerMinute = map.number("rate").map(Int.init)
        guards.canary = map.text("canary")
        guards.canaryWaitMs = map.number("canary_wait_ms")
        guards.stopIf = map.text("stop_if")
        guards.sendWindow = map.text("send_window")
    }

    /// The fields that ``IntakeCall`` writes besides the message, without defaults, which would cost memory in Redis.
    var texts: [(name: String, value: String)] {
        let mark = isPersonal || !guards.isEmpty ? String(Self.campaignMark) : ""
        var texts = [(name: "kind", value: kind.rawValue + mark), (name: "since", value: String(sinceMs))]
        appendOptions(to: &texts)
        if let traceparent { texts.append(("traceparent", traceparent)) }
        if pushedMs != sinceMs { texts.append(("pushed", String(pushedMs))) }
        if let tracestate { texts.append(("tracestate", tracestate)) }
        if isPersonal { texts.append(("personal", "1")) }
        if !guards.isEmpty { texts += guardTexts }
        guard operation != .send else { return texts }
        texts.append(("op", operation.rawValue))
        let given: [(name: String, value: String)] = [
            ("subscription", subscription), ("group_name", groupName), ("group", groupKey),
            ("members", members.joined(separator: "\n")),
        ]
        return texts + given.filter { !$0.value.isEmpty }
    }

    /// The fields of ``texts`` that the hash of a job of one token or installation id shows, if it has neither values of its
    /// own nor guards; see `SHOWN` in `intake.lua`.
    var shownTexts: [(name: String, value: String)] {
        var texts: [(name: String, value: String)] = []
        if kind != .token { texts.append(("kind", kind.rawValue)) }
        appendOptions(to: &texts)
        return texts
    }

    private func appendOptions(to texts: inout [(name: String, value: String)]) {
        if format != .v1 { texts.append(("format", format.rawValue)) }
        if delivery != .atLeastOnce { texts.append(("delivery", delivery.rawValue)) }
        if results != .unsaid { texts.append(("results", results.rawValue)) }
        if validateOnly { texts.append(("validate_only", "1")) }
        if expiresAt != 0 { texts.append(("expires_at", String(expiresAt))) }
        if priority != Job.usualPriority { texts.append(("priority", String(priority))) }
    }

    /// Follows the stored kind of a job that is personal or has guards: a worker of version 0.1, which knows neither,
    /// cannot read it and leaves the job to a newer one.
    static let campaignMark: Character = "+"

    /// The recipients' kind in its stored form.
    public static func kind(_ stored: String) -> RecipientKind? {
        RecipientKind(rawValue: stored.last == campaignMark ? String(stored.dropLast()) : stored)
    }

    private var guardTexts: [(name: String, value: String)] {
        let given: [(String, String?)] = [
            ("rate", guards.ratePerMinute.map { String($0) }), ("canary", guards.canary),
            ("canary_wait_ms", guards.canaryWaitMs.map { String($0) }), ("stop_if", guards.stopIf),
            ("send_window", guards.sendWindow),
        ]
        return given.compactMap { name, value in value.map { (name, $0) } }
    }
}
