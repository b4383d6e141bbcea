/// Lets one project of this process run a batch while nothing else runs: a batch that took its workers down must not
/// take the innocent with it.
final class Isolation {
    private(set) var holder: String?
    private var isQuiet: [String: () -> Bool] = [:]
    private var begin: (() -> Void)?

    /// - Parameter isQuiet: true while the project has nothing under way.
    func join(_ project: String, isQuiet: @escaping () -> Bool) { self.isQuiet[project] = isQuiet }

    /// True when this project may begin something new.
    func admits(_ project: String) -> Bool { holder == nil || (holder == project && begin == nil) }

    /// Calls `begin` as soon as no other project has anything under way.
    func enter(_ project: String, begin: @escaping () -> Void) {
        holder = project
        self.begin = begin
        tick()
    }

    /// The batch is over, or belongs to another worker; before it has begun only the latter counts.
    func leave(_ project: String, evenBeforeItBegan: Bool = false) {
        guard holder == project, begin == nil || evenBeforeItBegan else { return }
        holder = nil
        begin = nil
    }

    /// Looks again whether the others are done.
    func tick() {
        guard let begin, isQuiet.allSatisfy({ $0.key == holder || $0.value() }) else { return }
        self.begin = nil
        begin()
    }
}
