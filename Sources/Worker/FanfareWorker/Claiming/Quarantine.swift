internal import FanfareCore

/// This process's ``QuarantineGate``, which all its projects share.
final class Quarantine {
    private(set) var gate: QuarantineGate

    /// Called with the project that may run its quarantined batches from now on.
    var onBegin: (QuarantineGate.Stay) -> Void = { _ in }

    init(projects: [String]) { gate = QuarantineGate(projects: projects) }

    func add(_ project: String) { gate.add(project) }

    func remove(_ project: String) {
        handle(.leave(project))
        if let next = gate.remove(project) { onBegin(next) }
    }

    func handle(_ event: QuarantineGate.Event) {
        if let next = gate.handle(event) { onBegin(next) }
    }
}
