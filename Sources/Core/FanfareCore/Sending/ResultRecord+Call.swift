internal import FanfareModel
internal import StreamWire

extension ResultRecord {
    /// Its feedback entries, whatever the job's results policy: tokens and ids to remove or replace. Topics and
    /// conditions are in no token store, so they have none; a group has its members' entries.
    var feedback: [RecordCall.Feedback] {
        switch (kind, action) {
        case (.group, _): deadMembers.map { entry(.remove, .token, $0.token, error: $0.error) }
        case (.token, .remove), (.fid, .remove): [entry(.remove, kind, recipient, error: failure?.error)]
        case (.token, .replace), (.fid, .replace): [entry(.replace, kind, recipient, replacement: canonical)]
        default: []
        }
    }

    private func entry(
        _ action: RemedyAction,
        _ kind: RecipientKind,
        _ recipient: String,
        replacement: String? = nil,
        error: ErrorCode? = nil
    ) -> RecordCall.Feedback {
        RecordCall.Feedback(
            index: Int(index),
            kind: kind.rawValue,
            recipient: recipient,
            action: action.rawValue,
            replacement: replacement ?? "",
            error: error?.rawValue ?? ""
        )
    }
}
