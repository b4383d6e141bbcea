internal import FanfareCore

/// This process's ``QuarantineGate``, which all its projects share.
final class Quarantine {
    private var gate: QuarantineGate

    /// Called with the project that runs alone from now on.
    var onBegin: (String) -> Void = { _ in }

    init(projects: [String]) { gate = QuarantineGate(projects: projects) }

    var holder: String? { gate.holder }
    /// Projects have to report whether they are quiet.
    var isAwaited: Bool { gate.isAwaited }
    func admits(_ project: String) -> Bool { gate.admits(project) }

    func enter(_ project: String) { handle(.enter(project)) }
    func leave(_ project: String) { handle(.leave(project)) }
    func report(_ project: String, isQuiet: Bool) { handle(isQuiet ? .quiet(project) : .busy(project)) }

    private func handle(_ event: QuarantineGate.Event) {
        if let project = gate.handle(event) { onBegin(project) }
    }
}
