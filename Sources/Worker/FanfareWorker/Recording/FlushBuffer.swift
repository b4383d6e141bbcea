internal import FanfareCore
internal import FanfareModel
internal import StreamWire

/// What has been gathered of a batch since its last flush.
struct FlushBuffer {
    var results = PackedResults()
    /// Of the results that nobody asked for, what they would say: wanted only when they turn out to be in doubt.
    var plain = PlainResults()
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
    /// See ``RecordCall/subscribed``.
    var subscribed: [UInt8] = []

    /// What is true whoever holds the batch.
    var facts: FlushBuffer {
        var facts = FlushBuffer()
        facts.results = results
        facts.plain = plain
        facts.feedback = feedback
        facts.subscribed = subscribed
        return facts
    }
}

extension FlushBuffer {
    /// Notes a token whose subscription succeeded. Redis keeps its hash in a count, so the hash function must not change.
    mutating func noteSubscribed(_ token: SharedText, topic: String) {
        if subscribed.isEmpty {
            subscribed.append(contentsOf: topic.utf8)
            subscribed.append(UInt8(ascii: "\n"))
        }
        let hash = ByteHash.of(token)
        for shift in stride(from: 0, to: 64, by: 8) {
            subscribed.append(UInt8(truncatingIfNeeded: hash >> UInt64(shift)))
        }
    }

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
        if !isWanted, policy == .failures { keep(PlainResult(record), expected: expected) }
        feedback.append(contentsOf: record.callFeedback)
    }

    mutating func append(_ result: PlainResult, policy: ResultsPolicy, expected: Int) {
        let isWanted = policy == .all || policy == .unsaid
        results.append(index: result.index, status: .sent, isWanted: isWanted) { result.appendJSON(to: &$0) }
        results.reserve(expected)
        if policy == .failures { keep(result, expected: expected) }
    }

    private mutating func keep(_ result: PlainResult, expected: Int) {
        plain.append(result)
        plain.reserve(expected)
    }

    /// The usual results of many that share a request, given their places in it.
    mutating func append(_ closed: ArraySlice<Int>, of flight: Flight, _ verdicts: AnswerVerdicts, expected: Int) {
        let (batch, policy, kind) = (flight.batch, flight.batch.job.results, flight.kind)
        let isWanted = policy == .all || policy == .unsaid
        // Taken out of their object: each access to its property is watched. Groups, which are not called what they are
        // given as, never share a request.
        let recipients = batch.recipients
        for index in closed {
            let position = flight.positions[index]
            let recipient = recipients[position]
            results.append(index: recipient.index, status: .sent, isWanted: isWanted) { bytes in
                PlainResult.appendJSON(
                    index: recipient.index,
                    kind: kind,
                    recipient: recipient.text,
                    messageID: verdicts.messageID(index),
                    attempts: recipient.history.attempts,
                    to: &bytes
                )
            }
            results.reserve(expected)
            guard policy == .failures else { continue }
            plain.append(
                index: recipient.index,
                kind: kind,
                recipient: recipient.text,
                messageID: verdicts.messageID(index),
                attempts: recipient.history.attempts
            )
            plain.reserve(expected)
        }
    }

    /// The results as those of recipients that may have been sent to twice, which the stream gets whatever it gets else.
    func doubtedResults() -> PackedResults {
        var spares = plain.makeIterator()
        return results.doubted { bytes in
            if let spare = spares.next() { spare.appendJSON(to: &bytes, maybeDup: true) }
        }
    }
}
