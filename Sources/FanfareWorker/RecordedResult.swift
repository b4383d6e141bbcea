internal import FanfareCore
internal import FanfareModel
internal import StreamWire

extension PackedResults {
    /// - Parameters:
    ///   - policy: which results the job's results stream gets. Those that it does not get are kept for the moment when
    ///     they turn out to be in doubt, which it is told.
    ///   - expected: how many the flush will hold, about.
    mutating func append(_ record: ResultRecord, policy: ResultsPolicy, expected: Int) {
        append(
            index: Int(record.index),
            status: record.callStatus,
            isWanted: record.needsRecording(policy),
            maybeDup: record.maybeDup
        ) { bytes in
            if policy != .none { record.appendJSON(to: &bytes) }
        }
        reserve(expected)
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
