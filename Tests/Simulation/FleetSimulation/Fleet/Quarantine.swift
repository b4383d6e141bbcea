internal import FanfareCore
internal import StreamWire

/// The product's ``QuarantineGate`` of one process, with the model's runners in place of the product's.
final class Quarantine {
    private var gate = QuarantineGate(projects: [])
    private unowned let process: WorkerProcess

    init(process: WorkerProcess) { self.process = process }

    var isExclusive: Bool { gate.isExclusive }

    func admits(_ runner: Runner) -> Bool { gate.admits(Self.id(runner)) }

    func enter(_ runner: Runner, _ mode: QuarantineMode) {
        begin(gate.handle(.enter(Self.id(runner), mode)))
        tick()
    }

    func leave(_ runner: Runner) {
        begin(gate.handle(.leave(Self.id(runner))))
        for other in process.runners where other !== runner { other.claimLater(0) }
    }

    func reset() { gate = QuarantineGate(projects: process.runners.map(Self.id)) }

    /// Reports which projects are quiet.
    func tick() {
        for runner in process.runners where gate.isAwaited {
            begin(gate.handle(runner.isQuiet ? .quiet(Self.id(runner)) : .busy(Self.id(runner))))
        }
    }

    private func begin(_ next: QuarantineGate.Stay?) {
        guard let next, let runner = process.runners.first(where: { Self.id($0) == next.project }) else { return }
        runner.handle(.quarantineBegan(next.mode))
        runner.claimLater(0)
    }

    private static func id(_ runner: Runner) -> String { String(runner.project) }
}
