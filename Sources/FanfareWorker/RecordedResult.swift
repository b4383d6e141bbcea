internal import FanfareCore
internal import FanfareModel
internal import StreamWire

extension ResultRecord {
    /// These results as a flush carries them.
    ///
    /// - Parameter isLate: another worker holds the batch and may have sent to these recipients, too.
    static func callResults(_ records: [ResultRecord], policy: ResultsPolicy, isLate: Bool) -> [RecordCall.Result] {
        // One array for the objects of all: an array for each was an allocation for every send.
        var objects: [UInt8] = []
        var ends: [Int] = []
        ends.reserveCapacity(records.count)
        if policy == .all, let first = records.first {
            objects.reserveCapacity(records.count * (256 + first.recipient.utf8.count))
        }
        for var record in records {
            if isLate { record.maybeDup = true }
            if record.needsRecording(policy) { record.appendJSON(to: &objects) }
            ends.append(objects.count)
        }
        return records.indices.map { index in
            let object = objects[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
            let record = records[index]
            return RecordCall.Result(index: Int(record.index), status: record.callStatus, object: object)
        }
    }

    private var callStatus: RecordCall.Status {
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
