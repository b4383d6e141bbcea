/// Model of one project in Redis: the state, and the library's functions, each an atomic step. A value, so that an
/// earlier state can be restored.
struct ProjectState {
    let batchSize: Int
    let quota: Int
    let activeLimit: Int
    static let maximumGroups = 5

    var jobs: [JobRecord]
    var slot = FanoutSlot()
    var governor: QuotaGovernor
    /// Queues of single-batch jobs and of sends to groups that no worker holds.
    var singles: [FanoutSlot.Turn] = []
    var groups: [FanoutSlot.Turn] = []
    var retry: [Due] = []
    var scheduled: [Due] = []
    var expiring: [Due] = []
    var ending: [Int] = []
    /// When jobs that their guards hold back are looked at again.
    var later: [Int: Int64] = [:]
    var batches: [BatchName: BatchRecord] = [:]
    /// The batches held by each lease, in the order of their claims.
    var claims: [Int: [BatchName]] = [:]
    var groupsOn: Set<BatchName> = []
    var orphans: [BatchName] = []
    /// Watermarks of batches whose claim was lost in a rollback.
    var rolledBack: [BatchName: Int] = [:]
    var suspects: [BatchName] = []
    var leases: [(lease: Int, counter: Int)] = []
    /// True time of the last renewal of each lease, for the referee.
    var renewedAt: [Int: Int] = [:]
    /// The latest connection of each lease.
    var connections: [Int: Int] = [:]
    var epoch: UInt64 = 0
    var news: [News] = []
    var lastNews = NewsID()
    var isPaused = false
    /// True time of the pause, for the referee.
    var pausedAt = 0
    /// The worker that must hold no batch but a suspect.
    var quarantined: Int?
    /// Entries of the job stream before intake: the job, and when a worker last read the entry (0 for never).
    var entries: [(job: Int, readAtMs: Int64)] = []
    var parked: [Int] = []
    var openCount = 0

    init(jobs: [JobRecord], batchSize: Int, quota: Int, activeLimit: Int) {
        self.jobs = jobs
        self.batchSize = batchSize
        self.quota = quota
        self.activeLimit = activeLimit
        governor = QuotaGovernor(quota: quota)
    }

    func hasLease(_ lease: Int) -> Bool { leases.contains { $0.lease == lease } }

    /// Whether a call came on the worker's latest connection. A delayed call of an earlier one would give out batches
    /// whose reply is not read, or take back batches given since.
    mutating func isCurrent(_ connection: Int, of lease: Int, referee: Referee) -> Bool {
        let latest = connections[lease] ?? 0
        guard connection < latest else {
            if connection > latest { connections[lease] = connection }
            return true
        }
        return referee.breaks(.acceptOldConnections)
    }

    func held(by lease: Int) -> Int { claims[lease]?.count ?? 0 }

    /// Increases also across rollbacks, because epochs follow the clock.
    mutating func nextEpoch(_ nowMs: Int64) -> UInt64 {
        epoch = max(epoch + 1, UInt64(nowMs))
        return epoch
    }

    mutating func appendNews(_ kind: News.Kind, _ job: Int, _ nowMs: Int64) {
        // Like XADD: ids increase even if the clock goes back.
        lastNews =
            nowMs > lastNews.ms ? NewsID(ms: nowMs) : NewsID(ms: lastNews.ms, sequence: lastNews.sequence + 1)
        news.append(News(id: lastNews, kind: kind, job: job))
    }

    mutating func removeClaim(_ name: BatchName, of lease: Int) -> Bool {
        guard let at = claims[lease]?.firstIndex(of: name) else { return false }
        claims[lease]?.remove(at: at)
        return true
    }

    mutating func addClaim(_ name: BatchName, of lease: Int) {
        guard claims[lease]?.contains(name) != true else { return }
        claims[lease, default: []].append(name)
    }

    mutating func addRetry(_ due: Due) {
        retry.removeAll { $0.job == due.job && $0.index == due.index }
        Self.insert(due, into: &retry)
    }

    static func insert<Element: Comparable>(_ element: Element, into list: inout [Element]) {
        var low = 0
        var high = list.count
        while low < high {
            let middle = (low + high) / 2
            if list[middle] < element { low = middle + 1 } else { high = middle }
        }
        if low < list.count, list[low] == element { return }
        list.insert(element, at: low)
    }
}
