/// The outcome of a send to a group.
enum GroupOutcome: Equatable, Sendable {
    /// The project has too many active fan-outs.
    case tooMany
    /// The group has no members.
    case empty
    /// No member accepted the message.
    ///
    /// - Parameters:
    ///   - failed: all members, in the group's order.
    ///   - areGone: the registrations of all of them have ended.
    ///   - areNamed: the answer names them.
    case failed([String], areGone: Bool, areNamed: Bool)
    /// - Parameter failed: the members that refused it, in the group's order.
    case sent(success: Int, failed: [String])
}
