/// Lets one project of this process run a batch while nothing else runs: a batch that took its workers down must not
/// take the innocent with it. Projects that ask at the same time are served in turn.
final class QuarantineGate {
    private struct Entrant {
        let project: String
        let begin: () -> Void
    }

    /// The project that runs alone now.
    private(set) var holder: String?
    private var waiting: [Entrant] = []
    private var isQuiet: [String: () -> Bool] = [:]

    /// - Parameter isQuiet: true while the project has nothing under way.
    func join(_ project: String, isQuiet: @escaping () -> Bool) { self.isQuiet[project] = isQuiet }

    /// True when this project may begin something new.
    func admits(_ project: String) -> Bool { holder == project || (holder == nil && waiting.isEmpty) }

    /// Calls `begin` as soon as no other project has anything under way; at once for the one that runs alone already. It
    /// leaves only when it holds nothing any more, so a second batch that waited for that would wait for itself.
    func enter(_ project: String, begin: @escaping () -> Void) {
        if holder == project { return begin() }
        waiting.append(Entrant(project: project, begin: begin))
        tick()
    }

    /// The batch is over, or is somebody else's.
    func leave(_ project: String) {
        waiting.removeAll { $0.project == project }
        if holder == project { holder = nil }
        tick()
    }

    /// Looks again whether the others are done.
    func tick() {
        guard holder == nil, let next = waiting.first,
            isQuiet.allSatisfy({ $0.key == next.project || $0.value() })
        else { return }
        waiting.removeFirst()
        holder = next.project
        next.begin()
    }
}
