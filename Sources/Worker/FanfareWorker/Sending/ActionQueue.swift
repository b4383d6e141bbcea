/// Performs a machine's actions in order; actions added meanwhile follow.
final class ActionQueue<Action> {
    /// A machine appends its actions here.
    var actions: [Action] = []
    private var isPerforming = false

    func perform(_ body: (Action) -> Void) {
        guard !isPerforming else { return }
        isPerforming = true
        var next = 0
        while next < actions.count {
            body(actions[next])
            next += 1
        }
        actions.removeAll(keepingCapacity: true)
        isPerforming = false
    }
}
