/// The outcome of a send to a group.
enum GroupOutcome: Equatable, Sendable {
    /// The project has too many active fan-outs.
    case tooMany
    /// No member accepted it. `areGone`: all registrations have ended; `areNamed`: the answer names the members.
    case failed([String], areGone: Bool, areNamed: Bool)
    /// - Parameter failed: the members that refused it, in the group's order.
    case sent(success: Int, failed: [String])
}
