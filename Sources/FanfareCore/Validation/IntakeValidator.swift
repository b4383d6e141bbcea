internal import FanfareJSON
public import FanfareModel

/// What becomes of an entry of `jobs`.
public enum IntakeDecision: Equatable, Sendable {
    case accept(Job)
    /// - Parameters:
    ///   - jobID: the producer's id, or the entry's id when there is none that can be used.
    ///   - reason: `path: rule`, one line, free of tokens and of control characters.
    case reject(jobID: String, reason: String)
}

/// Checks every field of an entry before anything is sent: a request that FCM refuses uses up quota all the same.
///
/// The first broken rule is the reason, in this order: repeated and unknown fields as they stand in the entry, `id`,
/// `op`, the choice of target, the other fields, the target's value, the message.
public struct IntakeValidator: Sendable {
    /// 9999-12-31T23:59:59.999Z.
    static let latestTime: Int64 = 253_402_300_799_999

    private let transport: Transport
    private let audience: AudienceRules

    /// - Parameters:
    ///   - transport: how this project's sends travel.
    ///   - projectKeyTag: the project's id in braces.
    ///   - prefix: what the names of Fanfare's own keys start with, without the colon.
    public init(transport: Transport, projectKeyTag: String, prefix: String) {
        self.transport = transport
        audience = AudienceRules(projectKeyTag: projectKeyTag, prefix: prefix)
    }

    public func decide(entryID: String, fields: [(name: String, value: [UInt8])]) -> IntakeDecision {
        do throws(EntryFault) {
            return .accept(try job(entryID: entryID, fields: try EntryFields(fields)))
        } catch {
            return .reject(jobID: Self.usableID(fields) ?? entryID, reason: error.reason)
        }
    }

    /// The id by which even a rejected job is known: there must be one, once, and well-formed.
    private static func usableID(_ fields: [(name: String, value: [UInt8])]) -> String? {
        let ids = fields.filter { $0.name == EntryField.id.rawValue }
        guard ids.count == 1, let id = ids.first?.value, (try? RecipientRules.checkID(id, at: "id")) != nil else {
            return nil
        }
        return String(decoding: id, as: UTF8.self)
    }

    private func job(entryID: String, fields: EntryFields) throws(EntryFault) -> Job {
        if let id = fields[.id] { try RecipientRules.checkID(id, at: EntryField.id.rawValue) }
        try checkOperation(fields)
        let targetField = try chooseTarget(fields)
        guard let message = fields[.message] else { throw EntryFault(EntryField.message.rawValue, "required") }
        let format = try fields.choice(.format, of: MessageFormat.self, unless: .v1)
        let audienceSize = try fields.number(.audienceSize, in: 0...1_000_000_000_000) ?? 0
        guard fields[.audienceSize] == nil || targetField == .topic || targetField == .condition else {
            throw EntryFault(EntryField.audienceSize.rawValue, "only with topic or condition")
        }
        let priority = try fields.number(.priority, in: 0...9) ?? 5
        let (notBefore, expiresAt) = try times(fields)
        let validateOnly = try fields.number(.validateOnly, in: 0...1) == 1
        let results = try fields.choice(.results, of: ResultsPolicy.self, unless: .unsaid)
        let delivery = try fields.choice(.delivery, of: DeliveryMode.self, unless: .atLeastOnce)
        try checkTrace(fields)
        let target = try target(targetField, fields[targetField] ?? [])
        try MessageChecker(format: format, transport: transport, isBroadcast: target.kind.isBroadcast).check(message)
        return Job(
            id: fields[.id].map { String(decoding: $0, as: UTF8.self) } ?? entryID,
            hasOwnID: fields[.id] != nil,
            entryID: entryID,
            target: target,
            message: message,
            format: format,
            priority: Int(priority),
            notBefore: notBefore,
            expiresAt: expiresAt,
            validateOnly: validateOnly,
            results: results,
            delivery: delivery,
            traceparent: fields[.traceparent].map { String(decoding: $0, as: UTF8.self) },
            tracestate: fields[.tracestate].map { String(decoding: $0, as: UTF8.self) },
            audienceSize: audienceSize
        )
    }

    private func checkOperation(_ fields: EntryFields) throws(EntryFault) {
        if let name = fields[.op] {
            guard let operation = Operation(rawValue: String(decoding: name, as: UTF8.self)) else {
                throw EntryFault(EntryField.op.rawValue, "\(Excerpt.quoted(name)) is not an operation")
            }
            guard operation == .send else {
                throw EntryFault(EntryField.op.rawValue, "\(operation.rawValue) is not supported by this version")
            }
        }
        guard fields[.groupName] == nil else {
            throw EntryFault(EntryField.groupName.rawValue, "belongs to an op that is not supported by this version")
        }
    }

    private func chooseTarget(_ fields: EntryFields) throws(EntryFault) -> EntryField {
        let given = EntryField.targets.filter { fields[$0] != nil }
        guard let target = given.first else {
            let names = EntryField.targets.map(\.rawValue).joined(separator: ", ")
            throw EntryFault("target", "required, exactly one of \(names)")
        }
        guard given.count == 1 else {
            throw EntryFault(given[1].rawValue, "exactly one target, \(target.rawValue) is given too")
        }
        return target
    }

    private func times(_ fields: EntryFields) throws(EntryFault) -> (notBefore: Int64, expiresAt: Int64) {
        let notBefore = try fields.number(.notBefore, in: 0...Self.latestTime) ?? 0
        // 0 stands for no end within a job, so a producer cannot mean it.
        let expiresAt = try fields.number(.expiresAt, in: 1...Self.latestTime) ?? 0
        guard expiresAt == 0 || expiresAt > notBefore else {
            throw EntryFault(EntryField.expiresAt.rawValue, "\(expiresAt) is not after not_before \(notBefore)")
        }
        return (notBefore, expiresAt)
    }

    private func checkTrace(_ fields: EntryFields) throws(EntryFault) {
        if let parent = fields[.traceparent] { try TraceContextRules.checkParent(parent) }
        guard let state = fields[.tracestate] else { return }
        guard fields[.traceparent] != nil else {
            throw EntryFault(EntryField.tracestate.rawValue, "only with traceparent")
        }
        try TraceContextRules.checkState(state)
    }

    private func target(_ field: EntryField, _ value: [UInt8]) throws(EntryFault) -> Target {
        let path = field.rawValue
        if field == .fid || field == .fids, transport != .v1 {
            throw EntryFault(path, "only with the v1 transport, this project's is \(transport.rawValue)")
        }
        switch field {
        case .tokens, .fids:
            var scanner = TokenListScanner(field: path, bytes: value)
            let recipients = try scanner.tokens()
            return field == .fids ? .fids(recipients) : .tokens(recipients)
        case .topic: return .topic(try RecipientRules.topicName(value, at: path))
        case .condition:
            return .condition(try ConditionParser.check(value, limits: transport == .v1 ? .v1 : .legacy))
        case .audience: return .audience(key: try audience.key(value))
        default:
            try RecipientRules.checkToken(value, at: path)
            let recipient = String(decoding: value, as: UTF8.self)
            if field == .group { return .group(recipient) }
            return field == .fid ? .fids([recipient]) : .tokens([recipient])
        }
    }
}

extension RecipientKind {
    /// True where FCM itself finds the recipients; such a message may be half as large.
    var isBroadcast: Bool { self == .topic || self == .condition }
}
