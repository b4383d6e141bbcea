public import FanfareModel

/// A recipient that the producer should remove or replace in its own store.
public struct Feedback: Equatable, Sendable {
    public enum Action: Equatable, Sendable {
        case remove(ErrorCode)
        /// With the id that takes its place.
        case replace(String)
    }

    /// `token` or `fid`.
    public var kind: RecipientKind
    public var recipient: String
    public var action: Action

    public init(kind: RecipientKind, recipient: String, action: Action) {
        self.kind = kind
        self.recipient = recipient
        self.action = action
    }
}

extension ResultRecord {
    /// What the feedback stream is told of this result, whatever the job's results policy. Topics, conditions and
    /// groups are not in any token store, so they give none.
    public var feedback: Feedback? {
        guard kind == .token || kind == .fid else { return nil }
        switch action {
        case .remove:
            guard let failure else { return nil }
            return Feedback(kind: kind, recipient: recipient, action: .remove(failure.error))
        case .replace:
            guard let canonical else { return nil }
            return Feedback(kind: kind, recipient: recipient, action: .replace(canonical))
        case .none, .fixMessage, .fixCredentials:
            return nil
        }
    }
}
