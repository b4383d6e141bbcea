internal import FanfareModel

/// The fields that a job of any operation may have.
enum GeneralFields {
    /// 9999-12-31T23:59:59.999Z.
    static let latestTime: Int64 = 253_402_300_799_999

    static let names: Set<EntryField> = [
        .id, .priority, .notBefore, .expiresAt, .results, .traceparent, .tracestate, .op,
    ]

    /// A job with these fields; the caller fills in the others, the target first. The validator has checked `id` before.
    static func job(_ operation: Operation, _ fields: EntryFields, entryID: String) throws(EntryFault) -> Job {
        let id = fields[.id].map { String(decoding: $0, as: UTF8.self) }
        var job = Job(
            id: id ?? entryID,
            hasOwnID: id != nil,
            entryID: entryID,
            operation: operation,
            target: .tokens([]),
            message: []
        )
        job.priority = Int(try fields.number(.priority, in: 0...9) ?? Int64(Job.usualPriority))
        job.notBefore = try time(.notBefore, fields) ?? 0
        job.expiresAt = try time(.expiresAt, fields) ?? 0
        try require(
            job.expiresAt == 0 || job.expiresAt > job.notBefore,
            EntryField.expiresAt.rawValue,
            "\(job.expiresAt) is not after not_before \(job.notBefore)"
        )
        job.results = try fields.choice(.results, unless: ResultsPolicy.unsaid)
        if let parent = fields[.traceparent] { try TraceContextRules.checkParent(parent) }
        if let state = fields[.tracestate] {
            try require(fields[.traceparent] != nil, EntryField.tracestate.rawValue, "only with traceparent")
            try TraceContextRules.checkState(state)
        }
        job.traceparent = fields[.traceparent].map { String(decoding: $0, as: UTF8.self) }
        job.tracestate = fields[.tracestate].map { String(decoding: $0, as: UTF8.self) }
        return job
    }

    /// A time of the job; a time in another unit is refused with the remedy.
    private static func time(_ field: EntryField, _ fields: EntryFields) throws(EntryFault) -> Int64? {
        do throws(EntryFault) { return try fields.number(field, in: Job.times) } catch {
            guard let advice = fields[field].flatMap({ Job.unitAdvice($0) }) else { throw error }
            throw EntryFault(error.path, "\(error.rule); \(advice)")
        }
    }
}
