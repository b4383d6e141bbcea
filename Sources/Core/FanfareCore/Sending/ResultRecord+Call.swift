internal import FanfareModel
internal import StreamWire

extension ResultRecord {
    var callStatus: RecordCall.Status {
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
