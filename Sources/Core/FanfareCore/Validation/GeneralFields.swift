internal import FanfareModel

/// The fields that a job of any operation may have.
struct GeneralFields {
    /// 9999-12-31T23:59:59.999Z.
    static let latestTime: Int64 = 253_402_300_799_999

    static let names: Set<EntryField> = [
        .id, .priority, .notBefore, .expiresAt, .results, .traceparent, .tracestate, .op,
    ]

    private let id: String?
    private let entryID: String
    private let priority: Int
    private let notBefore: Int64
    private let expiresAt: Int64
    private let results: ResultsPolicy
    private let traceparent: String?
    private let tracestate: String?

    /// Checks all of them but `id`, which the validator checks first.
    init(_ fields: EntryFields, entryID: String) throws(EntryFault) {
        id = fields[.id].map { String(decoding: $0, as: UTF8.self) }
        self.entryID = entryID
        priority = Int(try fields.number(.priority, in: 0...9) ?? Int64(Job.usualPriority))
        notBefore = try fields.number(.notBefore, in: 0...Self.latestTime) ?? 0
        // Within a job 0 means that it never expires, so a producer may not give it.
        expiresAt = try fields.number(.expiresAt, in: 1...Self.latestTime) ?? 0
        guard expiresAt == 0 || expiresAt > notBefore else {
            throw EntryFault(EntryField.expiresAt.rawValue, "\(expiresAt) is not after not_before \(notBefore)")
        }
        results = try fields.choice(.results, of: ResultsPolicy.self, unless: .unsaid)
        if let parent = fields[.traceparent] { try TraceContextRules.checkParent(parent) }
        if let state = fields[.tracestate] {
            guard fields[.traceparent] != nil else {
                throw EntryFault(EntryField.tracestate.rawValue, "only with traceparent")
            }
            try TraceContextRules.checkState(state)
        }
        traceparent = fields[.traceparent].map { String(decoding: $0, as: UTF8.self) }
        tracestate = fields[.tracestate].map { String(decoding: $0, as: UTF8.self) }
    }

    /// A job with these fields; the caller fills in the others.
    func job(_ operation: Operation, target: Target) -> Job {
        Job(
            id: id ?? entryID,
            hasOwnID: id != nil,
            entryID: entryID,
            operation: operation,
            target: target,
            message: [],
            priority: priority,
            notBefore: notBefore,
            expiresAt: expiresAt,
            results: results,
            traceparent: traceparent,
            tracestate: tracestate
        )
    }
}
