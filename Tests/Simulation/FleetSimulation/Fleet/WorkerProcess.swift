/// One worker process: its connections, and a runner for each project. It can crash, freeze and restart.
final class WorkerProcess {
    let number: Int
    /// Drift of its monotonic clock against true time, in parts per million.
    let drift: Int
    var incarnation = 0
    var isUp = false
    var frozenUntil = 0
    var isDraining = false
    let data = Link(isLease: false)
    let lease = Link(isLease: true)
    var runners: [Runner] = []
    private(set) lazy var quarantine = Quarantine(process: self)

    init(number: Int, drift: Int) {
        self.number = number
        self.drift = drift
    }

    func runner(of project: Int) -> Runner? { runners.first { $0.project == project } }

    /// The process's monotonic clock at true time `now`, in nanoseconds.
    func local(_ now: Int) -> UInt64 { UInt64(now * 1_000 + now / 1_000 * drift + 1_000_000_000) }
}
