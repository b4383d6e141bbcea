public import FanfareModel

/// Whether an entry of `jobs` becomes a job.
public enum IntakeDecision: Equatable, Sendable {
    case accept(Job)
    /// - Parameters:
    ///   - jobID: the producer's id, or the entry's id when there is none that can be used.
    ///   - reason: `path: rule`, one line, free of tokens and of control characters.
    case reject(jobID: String, reason: String)
}

/// Checks every field of an entry before anything is sent: a request that FCM refuses also uses quota.
///
/// The first broken rule is the reason, in this order: repeated and unknown fields as they stand in the entry, `id`,
/// `op`, the choice of target, the other fields, the target's value, the message.
public struct IntakeValidator: Sendable {
    private let traits: TransportTraits
    private let management: ManagementRules
    private let audience: AudienceRules

    /// - Parameters:
    ///   - traits: of the transport of this project's sends.
    ///   - hasSenderID: whether the project's sender id is known, which operations on groups have to name.
    ///   - projectKeyTag: the project's id in braces.
    ///   - prefix: what the names of Fanfare's own keys start with, without the colon.
    public init(
        _ traits: TransportTraits,
        hasSenderID: Bool,
        projectKeyTag: String,
        prefix: String
    ) {
        self.traits = traits
        management = ManagementRules(hasSenderID: hasSenderID)
        audience = AudienceRules(projectKeyTag: projectKeyTag, prefix: prefix)
    }

    /// - Parameter knowsMessage: whether this job's message has been checked before. It has when a job of this project
    ///   with the same message bytes, format and kind of target (broadcast or not) was accepted.
    public func decide(
        entryID: String,
        fields: [(name: String, value: [UInt8])],
        knowsMessage: (Job) -> Bool = { _ in false }
    ) -> IntakeDecision {
        do throws(EntryFault) {
            return .accept(try check(entryID: entryID, fields: fields, knowsMessage: knowsMessage))
        } catch {
            return .reject(jobID: Self.usableID(fields) ?? entryID, reason: error.reason)
        }
    }

    /// As ``decide(entryID:fields:knowsMessage:)``.
    /// - Throws: the first rule that the entry breaks.
    public func check(
        entryID: String,
        fields: [(name: String, value: [UInt8])],
        knowsMessage: (Job) -> Bool = { _ in false }
    ) throws(EntryFault) -> Job {
        let fields = try EntryFields(fields)
        let job = try job(entryID: entryID, fields: fields)
        if job.operation == .send, !knowsMessage(job) { try checkMessage(of: job) }
        return job
    }

    private func checkMessage(of job: Job) throws(EntryFault) {
        guard job.isPersonal else { return try messageChecker(of: job).check(job.message) }
        let checker = PersonalMessageChecker(format: job.format, traits: traits)
        _ = try checker.check(message: job.message, variants: job.variants)
    }

    /// The producer's id, by which a rejected job is recorded; nil unless there is exactly one and it is valid.
    private static func usableID(_ fields: [(name: String, value: [UInt8])]) -> String? {
        let ids = fields.filter { $0.name == EntryField.id.rawValue }
        guard ids.count == 1, let id = ids.first?.value, (try? RecipientRules.checkID(id, at: "id")) != nil else {
            return nil
        }
        return String(decoding: id, as: UTF8.self)
    }

    /// Checks everything but the message.
    private func job(entryID: String, fields: EntryFields) throws(EntryFault) -> Job {
        if let id = fields[.id] { try RecipientRules.checkID(id, at: EntryField.id.rawValue) }
        let operation = try ManagementRules.operation(fields)
        if let reason = traits.fault(of: operation) { throw EntryFault(EntryField.op.rawValue, reason) }
        guard operation == .send else { return try management.job(operation, entryID: entryID, fields: fields) }
        let targetField = try chooseTarget(fields)
        guard let message = fields[.message] else { throw EntryFault(EntryField.message.rawValue, "required") }
        let format = try fields.choice(.format, unless: MessageFormat.v1)
        let audienceSize = try fields.number(.audienceSize, in: 0...1_000_000_000_000)
        guard fields[.audienceSize] == nil || targetField == .topic || targetField == .condition else {
            throw EntryFault(EntryField.audienceSize.rawValue, "only with topic or condition")
        }
        var job = try GeneralFields.job(.send, fields, entryID: entryID)
        job.validateOnly = try fields.number(.validateOnly, in: 0...1) == 1
        job.delivery = try fields.choice(.delivery, unless: DeliveryMode.atLeastOnce)
        job.target = try target(targetField, fields[targetField] ?? [])
        job.message = message
        job.format = format
        job.audienceSize = audienceSize
        job.isPersonal = try isPersonal(targetField, fields)
        job.variants = fields[.variants]
        try require(
            job.variants == nil || job.isPersonal,
            EntryField.variants.rawValue,
            "only with recipients, or an audience with audience_format=json"
        )
        job.guards = try guards(targetField, fields)
        return job
    }

    private func isPersonal(_ target: EntryField, _ fields: EntryFields) throws(EntryFault) -> Bool {
        let format = try fields.choice(.audienceFormat, unless: AudienceFormat.token)
        let isAllowed = fields[.audienceFormat] == nil || target == .audience
        try require(isAllowed, EntryField.audienceFormat.rawValue, "only with audience")
        return target == .recipients || format == .json
    }

    private func guards(_ target: EntryField, _ fields: EntryFields) throws(EntryFault) -> JobGuards {
        var guards = JobGuards()
        let isList = [.tokens, .fids, .recipients, .audience].contains(target)
        for field in EntryField.listGuards where fields[field] != nil && !isList {
            throw EntryFault(field.rawValue, "only with tokens, fids, recipients or audience")
        }
        if let rate = fields[.rate] { guards.ratePerMinute = try JobRate(rate).perMinute }
        if let size = fields[.canary] {
            let canary = try Canary(size, wait: fields[.canaryWait])
            (guards.canary, guards.canaryWaitMs) = (canary.text, canary.waitMs)
        } else {
            try require(fields[.canaryWait] == nil, EntryField.canaryWait.rawValue, "only with canary")
        }
        if let conditions = fields[.stopIf] { guards.stopIf = try StopConditions(conditions).text }
        if let window = fields[.sendWindow] { guards.sendWindow = try SendWindow(window).text }
        return guards
    }

    func messageChecker(of job: Job) -> MessageChecker {
        MessageChecker(format: job.format, traits: traits, isBroadcast: job.target.kind.isBroadcast)
    }

    private func chooseTarget(_ fields: EntryFields) throws(EntryFault) -> EntryField {
        guard let target = EntryField.targets.first(where: { fields[$0] != nil }) else {
            let names = EntryField.targets.map(\.rawValue).joined(separator: ", ")
            throw EntryFault("target", "required, exactly one of \(names)")
        }
        if let other = EntryField.targets.first(where: { $0 != target && fields[$0] != nil }) {
            throw EntryFault(other.rawValue, "exactly one target, \(target.rawValue) is given too")
        }
        return target
    }

    private func target(_ field: EntryField, _ value: [UInt8]) throws(EntryFault) -> Target {
        let path = field.rawValue
        if let kind = field.kindOfTarget, let reason = traits.fault(of: kind) { throw EntryFault(path, reason) }
        switch field {
        case .tokens, .fids:
            var scanner = TokenListScanner(field: path, bytes: value)
            let recipients = try scanner.scan()
            return field == .fids ? .fids(recipients) : .tokens(recipients)
        case .topic: return .topic(try RecipientRules.topicName(value, at: path))
        case .condition:
            return .condition(try ConditionParser.check(value, limits: traits.conditions))
        case .audience: return .audience(key: try audience.key(value))
        case .recipients: return .recipients(try RecipientListReader(traits).read(value))
        default:
            try RecipientRules.checkToken(value, at: path)
            if field == .group { return .group(String(decoding: value, as: UTF8.self)) }
            var one = RecipientList(within: value)
            one.append(0..<value.count)
            return field == .fid ? .fids(one) : .tokens(one)
        }
    }
}

extension EntryField {
    /// The kind of all recipients of a target; nil where each recipient has its own.
    fileprivate var kindOfTarget: RecipientKind? {
        switch self {
        case .fid, .fids: .fid
        case .topic: .topic
        case .condition: .condition
        case .group: .group
        default: nil
        }
    }
}

extension RecipientKind {
    /// FCM itself finds the recipients; such a message may be half as large.
    public var isBroadcast: Bool { self == .topic || self == .condition }
}
