internal import FanfareCore
internal import FanfareModel
internal import StreamWire

/// What has been gathered of a batch since its last flush.
struct PendingRecord {
    var results = PackedResults()
    /// Of the results that nobody asked for, what they would say: wanted only when they turn out to be in doubt.
    var plain: [PlainResult] = []
    var feedback: [RecordCall.Feedback] = []
    var retries: [RecordCall.Retry] = []
    var upto: Int?
    var allSent = false
    var refusedRates: [RecordCall.RefusedRate] = []
    var holdMs: Int64 = 0
    var blockReason = ""
    var projectAnswers = false
    var answers = 0
    var badAnswers = 0
    var badAnswer = ""

    /// What is true whoever holds the batch.
    var facts: PendingRecord {
        var facts = PendingRecord()
        facts.results = results
        facts.plain = plain
        facts.feedback = feedback
        return facts
    }
}

extension PendingRecord {
    /// - Parameters:
    ///   - policy: which results the job's results stream gets.
    ///   - expected: how many the flush will hold, about.
    mutating func append(_ record: ResultRecord, policy: ResultsPolicy, expected: Int) {
        let isWanted = record.needsRecording(policy)
        results.append(
            index: Int(record.index),
            status: record.callStatus,
            isWanted: isWanted,
            maybeDup: record.maybeDup
        ) { bytes in
            record.appendJSON(to: &bytes)
        }
        results.reserve(expected)
        // What failures leave out has no more to say than this.
        if !isWanted, policy == .failures { plain.append(PlainResult(record)) }
        feedback.append(contentsOf: record.callFeedback)
    }

    mutating func append(_ result: PlainResult, policy: ResultsPolicy, expected: Int) {
        let isWanted = policy == .all || policy == .unsaid
        results.append(index: result.index, status: .sent, isWanted: isWanted) { result.appendJSON(to: &$0) }
        results.reserve(expected)
        if policy == .failures { plain.append(result) }
    }

    mutating func append(_ many: ArraySlice<PlainResult>, policy: ResultsPolicy, expected: Int) {
        for result in many { append(result, policy: policy, expected: expected) }
    }

    /// The results as those of recipients that may have been sent to twice, which the stream gets whatever it gets else.
    func doubtedResults() -> PackedResults {
        results.doubted { position, bytes in
            if plain.indices.contains(position) { plain[position].appendJSON(to: &bytes, maybeDup: true) }
        }
    }
}
