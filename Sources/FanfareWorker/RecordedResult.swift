internal import FanfareCore
internal import FanfareModel
internal import StreamWire

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

extension ResultRecord {
    fileprivate var callStatus: RecordCall.Status {
        switch status {
        case .sent: return .sent
        case .failed: return .failed
        case .unknown: return .unknown
        case .cancelled: return .cancelled
        case .expired: return .expired
        }
    }

    var callFeedback: [RecordCall.Feedback] {
        guard !memberFeedback.isEmpty else { return feedback.map { [entry($0)] } ?? [] }
        return memberFeedback.map(entry)
    }

    private func entry(_ feedback: Feedback) -> RecordCall.Feedback {
        let (action, replacement, error): (String, String, String)
        switch feedback.action {
        case .remove(let code): (action, replacement, error) = ("remove", "", code.rawValue)
        case .replace(let id): (action, replacement, error) = ("replace", id, "")
        }
        return RecordCall.Feedback(
            index: Int(index),
            kind: feedback.kind.rawValue,
            recipient: feedback.recipient,
            action: action,
            replacement: replacement,
            error: error
        )
    }
}
