/// A change that an operator made.
public struct AuditEntry: Equatable, Sendable {
    /// Unix milliseconds.
    public var atMs: Int64
    /// Who acted: `user@host` of the command line, or what the dashboard knows; empty if unknown.
    public var actor: String
    /// `cancel`, `pause`, `resume`, `pause_project`, `resume_project`, `replay`, `drop` or `push_edited`.
    public var action: String
    /// The job's id, or the id of the entry of `dead`; empty for the project.
    public var target: String
    /// Why, as the actor said; empty if not said.
    public var reason: String

    public init(atMs: Int64, actor: String, action: String, target: String, reason: String) {
        self.atMs = atMs
        self.actor = actor
        self.action = action
        self.target = target
        self.reason = reason
    }
}
