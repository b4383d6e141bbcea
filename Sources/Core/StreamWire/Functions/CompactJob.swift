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

    /// - Parameter held: as ``IntakeReply/takenCompact(held:permits:)`` has it.
    public init(_ call: IntakeCall, held: String) {
        id = call.job.id
        entryID = call.job.hasOwnID ? call.job.entryID : ""
        self.held = held
        keepMs = call.keepMs
        shown = call.spec.shownTexts
        let context = [("traceparent", call.spec.traceparent), ("tracestate", call.spec.tracestate)]
        trace = context.compactMap { name, value in value.map { (name: name, value: $0) } }
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
        let counted = [call.results.failureField, call.results.flagged > 0 ? "maybe_dup" : nil].compactMap(\.self)
        words.append(shown.count + counted.count)
        words.append(call.feedback.count)
        for (name, value) in shown + counted.map({ (name: $0, value: "1") }) {
            words.append(name)
            words.append(value)
        }
        for entry in call.feedback { words.append(entry) }
        for (name, value) in trace {
            words.append(name)
            words.append(value)
        }
    }
}

extension RecordCall {
    /// The short call of `records`, if this flush is all that is to say of a compact job; nil for any other.
    public func shortCall(worker: String, indexesTokens: Bool = true) -> RedisCommand? {
        guard let compact, finish, number == 1, !late, results.count == 1, retries.isEmpty, feedback.count <= 1,
            hasResultsOnly, !results.hasUnsentStatus
        else { return nil }
        var words = RedisCommand(shortCall: results.objectBytes + worker.utf8.count + 160, words: 16)
        compact.append(self, worker: worker, indexesTokens: indexesTokens, to: &words)
        return words
    }

    /// Whether it says nothing of the project, its other jobs, or the recipient's rate.
    private var hasResultsOnly: Bool {
        watermark == nil && holdMs == 0 && blockReason.isEmpty && !projectAnswers && !probeUnused && refusal.isEmpty
            && acceptedCredential == nil && answers == 0 && refusedRates.isEmpty && subscribed.isEmpty && untried == 0
            && firstAttempts.isEmpty
    }
}

extension RedisCommand {
    fileprivate mutating func append(_ entry: RecordCall.Feedback) {
        for word in [entry.kind, entry.recipient, entry.action, entry.replacement, entry.error] { append(word) }
    }
}

extension CompactJob: Equatable {
    /// Each job is one object.
    public static func == (left: CompactJob, right: CompactJob) -> Bool { left === right }
}
