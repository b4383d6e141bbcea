internal import FanfareModel

/// A job of one recipient that Redis keeps as one text from its intake to its result; see `compact.lua`. This is what its
/// holder tells Redis with the result.
public final class CompactJob: Sendable {
    private let id: String
    /// Empty where the job's id is that of its entry.
    private let entryID: String
    private let held: String
    private let keepMs: Int64
    /// Fields of the job's hash that say how it was sent.
    private let shown: [(name: String, value: String)]
    private let trace: [(name: String, value: String)]

    /// - Parameters:
    ///   - entryID: empty where the job's id is that of its entry.
    ///   - keepMs: as in its ``IntakeCall``.
    ///   - held: as ``IntakeReply/taken(epoch:permits:held:)`` has it.
    public init(id: String, entryID: String, spec: JobSpec, keepMs: Int64, held: String) {
        self.id = id
        self.entryID = entryID
        self.held = held
        self.keepMs = keepMs
        shown = spec.shownTexts
        var trace: [(name: String, value: String)] = []
        if let parent = spec.traceparent { trace.append(("traceparent", parent)) }
        if let state = spec.tracestate { trace.append(("tracestate", state)) }
        self.trace = trace
    }

    /// The epoch of its batch.
    public var epoch: String { String(held.prefix { $0 != " " }) }

    fileprivate func append(_ call: RecordCall, worker: String, indexesTokens: Bool, to words: inout RedisCommand) {
        words.append(id)
        words.append(entryID)
        words.append(held)
        words.append(worker)
        words.append(keepMs)
        call.results.appendSingle(to: &words, isIndexed: indexesTokens)
        let (failure, isFlagged) = (call.results.failureField, call.results.flagged > 0)
        words.append(shown.count + (failure == nil ? 0 : 1) + (isFlagged ? 1 : 0))
        words.append(call.feedback.count)
        words.append(pairs: shown)
        if let failure { words.append(pairs: [(failure, "1")]) }
        if isFlagged { words.append(pairs: [("maybe_dup", "1")]) }
        for entry in call.feedback { words.append(entry) }
        words.append(pairs: trace)
    }

    fileprivate func append(_ retry: RecordCall.Retry, worker: String, to words: inout RedisCommand) {
        for word in [id, entryID, held, worker] { words.append(word) }
        words.append(keepMs)
        // In the place of the result: its letter, object and fingerprint, and no pairs and no feedback.
        for word in ["", "", "", "0", "0"] { words.append(word) }
        words.append(retry.dueMs)
        words.append(retry.packed)
    }
}

extension RecordCall {
    /// The short call of `records`, if this flush is all that is to say of a compact job; nil for any other.
    public func shortCall(worker: String, indexesTokens: Bool = true) -> RedisCommand? {
        guard let compact, finish, number == 1, !late, results.count + retries.count == 1, feedback.count <= 1,
            saysNothingElse, !results.hasUnsentStatus
        else { return nil }
        if let retry = retries.first {
            // The probe of a blocked project, and a recipient that was not sent to, wait in other ways.
            guard !retry.parked, !retry.packed.hasPrefix("0|"), feedback.isEmpty else { return nil }
            var words = RedisCommand(shortCall: retry.packed.utf8.count + worker.utf8.count + 120, words: 12)
            compact.append(retry, worker: worker, to: &words)
            return words
        }
        var words = RedisCommand(shortCall: results.objectBytes + worker.utf8.count + 160, words: 16)
        compact.append(self, worker: worker, indexesTokens: indexesTokens, to: &words)
        return words
    }

    /// Whether it says nothing of the project, its other jobs, or the recipient's rate.
    private var saysNothingElse: Bool {
        watermark == nil && holdMs == 0 && blockReason.isEmpty && !projectAnswers && !probeUnused && refusal.isEmpty
            && acceptedCredential == nil && answers == 0 && refusedRates.isEmpty && subscribed.isEmpty && untried == 0
            && firstAttempts.isEmpty
    }
}

extension RedisCommand {
    fileprivate mutating func append(pairs: [(name: String, value: String)]) {
        for (name, value) in pairs {
            append(name)
            append(value)
        }
    }

    fileprivate mutating func append(_ entry: RecordCall.Feedback) {
        for word in [entry.kind, entry.recipient, entry.action, entry.replacement, entry.error] { append(word) }
    }
}

extension CompactJob: Equatable {
    /// Each job is one object.
    public static func == (left: CompactJob, right: CompactJob) -> Bool { left === right }
}
