internal import FanfareCore

/// Process-wide quarantine: lets one project run a batch while the other projects are quiet.
final class Quarantine {
    private(set) var holder: Runner?
    private var waiting: [Runner] = []
    private unowned let process: WorkerProcess

    init(process: WorkerProcess) { self.process = process }

    func admits(_ runner: Runner) -> Bool { holder === runner || (holder == nil && waiting.isEmpty) }

    func enter(_ runner: Runner) {
        waiting.append(runner)
        tick()
    }

    func leave(_ runner: Runner) {
        waiting.removeAll { $0 === runner }
        guard holder === runner else { return }
        holder = nil
        tick()
        for other in process.runners where other !== runner { other.claimLater(0) }
    }

    func reset() {
        holder = nil
        waiting = []
    }

    func tick() {
        guard holder == nil, let next = waiting.first,
            process.runners.allSatisfy({ $0 === next || $0.isQuiet })
        else { return }
        waiting.removeFirst()
        holder = next
        next.handle(.quarantineBegan)
    }
}
