/// One worker process: its connections, and a runner for each project. It dies, freezes and comes back.
final class WorkerProcess {
    let number: Int
    /// Its monotonic clock against true time, parts in a million.
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

    /// Nanoseconds on this machine's clock that is never set.
    func local(_ now: Int) -> UInt64 { UInt64(now * 1_000 + now / 1_000 * drift + 1_000_000_000) }
}
