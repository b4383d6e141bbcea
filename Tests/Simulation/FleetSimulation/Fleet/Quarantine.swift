internal import FanfareCore

/// Lets one project of a process run a batch while the others are quiet.
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
        for other in process.runners where other !== runner { other.askLater(0) }
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
