internal import FanfareCore

/// This process's ``QuarantineGate``, which all its projects share.
final class Quarantine {
    private(set) var gate: QuarantineGate

    /// Called with the project that runs alone from now on.
    var onBegin: (String) -> Void = { _ in }

    init(projects: [String]) { gate = QuarantineGate(projects: projects) }

    func add(_ project: String) { gate.add(project) }

    func remove(_ project: String) {
        handle(.leave(project))
        if let next = gate.remove(project) { onBegin(next) }
    }

    func handle(_ event: QuarantineGate.Event) {
        if let project = gate.handle(event) { onBegin(project) }
    }
}
