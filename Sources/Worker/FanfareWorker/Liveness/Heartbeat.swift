internal import EventLoop
internal import FanfareCore
internal import RedisTransport
internal import StreamWire

/// Renews this process's leases on a thread and a connection of its own, which no load on the data path can starve.
final class Heartbeat: Sendable {
    enum Report: Sendable {
        /// Every worker's renew counter in a project, as the answer to this worker's renewal lists them. They go from
        /// ``WorkerShard/observed(_:)`` through ``Reclaimer/observe(_:)`` to the `FailureDetector`.
        case counters(project: String, counters: [(worker: String, counter: String)])
        /// This process was declared dead in a project.
        case fenced(project: String, name: String)
        /// Redis lacks the functions: no lease can be renewed. `project` is empty where one server has all projects.
        case functionsMissing(project: String)
    }

    /// Stops the thread's loop.
    private let orders = Inbox<Void>()
    private let thread: LoopThread

    init(
        configuration: WorkerConfiguration,
        leases: LeaseTable,
        reports: Inbox<Report>
    ) throws(SystemError) {
        let orders = orders
        thread = try LoopThread(name: "fanfare-lease") { loop in
            let driver = HeartbeatDriver(
                loop: loop,
                configuration: configuration,
                leases: leases,
                reports: reports
            )
            loop.attach(orders) { _ in driver.stop() }
            driver.start()
        }
    }

    func stop() {
        orders.send(())
        thread.join()
    }
}

/// Renews the leases on the heartbeat's loop.
final class HeartbeatDriver {
    private let loop: EventLoop
    /// By project in a cluster; otherwise one for all, with the key "".
    private var connections: [String: any CommandConnection] = [:]
    private let timeouts: RedisTimeouts
    private let configuration: WorkerConfiguration
    private let leases: LeaseTable
    private let reports: Inbox<Heartbeat.Report>
    private let card: WorkerRegistration
    /// Projects that are renewed by one call: Redis serves no other client meanwhile.
    private static let groupSize = 64
    /// Turns for which leases are renewed one by one after a call for several was refused.
    private static let turnsSingly = 30
    private var singlyUntil = 0
    private var turn = 0
    /// The last report of each project.
    private var written: [String: String] = [:]
    /// By project, what was last done about a lease that may rest.
    private var rests: [String: Rest] = [:]
    /// Projects of which every worker knows resting leases: an older one would declare their holders dead.
    private var restful: Set<String> = []
    private let makeConnection: ((_ project: String) -> any CommandConnection)?

    /// One renewal of a lease; `rests`: whether it may rest.
    private struct Renewal {
        var project: String
        var lease: Lease
        var rests: Bool
    }

    private struct Rest {
        var name: String
        var wakes: Int
        var report: WorkerReport
        /// The turn of the next renewal.
        var due: Int
    }

    /// - Parameter connection: makes the connection of a project, or with "" of all; nil: to the configured server.
    init(
        loop: EventLoop,
        configuration: WorkerConfiguration,
        leases: LeaseTable,
        reports: Inbox<Heartbeat.Report>,
        connection: ((_ project: String) -> any CommandConnection)? = nil
    ) {
        makeConnection = connection
        self.loop = loop
        // Bounded by the renewal interval: after a pause longer than the lease a live worker would be declared dead.
        var timeouts = RedisTimeouts()
        timeouts.maximumBackoffMs = min(timeouts.maximumBackoffMs, configuration.renewMs)
        timeouts.failedRetryMs = min(timeouts.failedRetryMs, configuration.renewMs)
        timeouts.connectMs = min(timeouts.connectMs, configuration.renewMs)
        self.timeouts = timeouts
        self.configuration = configuration
        self.leases = leases
        self.reports = reports
        card = WorkerRegistration(configuration)
    }

    func start() {
        if configuration.redis.form != .cluster { connect("", key: nil) }
        renewAll()
        loop.every(milliseconds: configuration.renewMs) { self.renewAll() }
    }

    func stop() {
        for connection in connections.values { connection.close() }
        loop.stop()
    }

    private func connect(_ name: String, key: String?) {
        let connection: any CommandConnection =
            makeConnection?(name)
            ?? RedisConnection(
                loop: loop,
                deployment: configuration.redis,
                key: key,
                name: "fanfare-lease",
                tls: configuration.tls,
                timeouts: timeouts
            )
        connection.onFunctionMissing = { [reports] in reports.send(.functionsMissing(project: name)) }
        connections[name] = connection
        connection.connect()
    }

    /// In a cluster: connects for the projects that are served, and closes the connections of all others.
    private func updateConnections() {
        guard configuration.redis.form == .cluster else { return }
        let projects = leases.projects
        for project in projects where connections[project] == nil {
            connect(project, key: ProjectKeys(prefix: configuration.prefix, project: project).base)
        }
        for project in connections.keys.filter({ !projects.contains($0) }) {
            connections.removeValue(forKey: project)?.close()
        }
    }

    private func renewAll() {
        updateConnections()
        turn += 1
        guard let connection = connections[""] else {
            for lease in due() { renew([lease], by: connections[lease.project]) }
            return
        }
        let held = due()
        let groupSize = turn < singlyUntil ? 1 : Self.groupSize
        for start in stride(from: 0, to: held.count, by: groupSize) {
            renew(Array(held[start..<min(start + groupSize, held.count)]), by: connection)
        }
    }

    /// The leases to renew in this turn. A lease rests when it was idle for a whole interval. One of a process never rests:
    /// by it other workers learn within a lease that the process died.
    private func due() -> [Renewal] {
        let (isEachDue, held) = (leases.takeEachDue(), leases.held)
        let watched = held.lazy.map(\.project).min()
        return held.compactMap { project, _, lease in
            guard lease.isResting, project != watched, restful.contains(project) else {
                rests[project] = nil
                return Renewal(project: project, lease: lease, rests: false)
            }
            let report = leases.report(in: project)
            if let rest = rests[project], rest.wakes == lease.wakes, rest.name == lease.name {
                guard isEachDue || turn >= rest.due || rest.report != report else { return nil }
                return Renewal(project: project, lease: lease, rests: report.unreachable == nil)
            }
            rests[project] = Rest(name: lease.name, wakes: lease.wakes, report: report, due: turn + 1)
            return Renewal(project: project, lease: lease, rests: false)
        }
    }

    /// Renews the leases of a connection's projects by one call.
    private func renew(_ group: [Renewal], by connection: (any CommandConnection)?) {
        // The lease begins before the call is sent: Redis may apply it at any time after this.
        let sentAt = SystemClock.bootNs
        let renewals = group.map {
            FunctionLibrary.Renewal(
                ProjectKeys(prefix: configuration.prefix, project: $0.project),
                worker: $0.lease.name,
                about: report($0),
                rests: $0.rests
            )
        }
        let call =
            group.count == 1
            ? FunctionLibrary.renew(renewals[0])
            : FunctionLibrary.renew(renewals)
        connection?.send(call, timeoutMs: configuration.renewMs) { result in
            switch result {
            case .success(let value):
                let replies = group.count == 1 ? [value] : value.array ?? []
                for (renewal, reply) in zip(group, replies) { self.renewed(renewal, reply, sentAt) }
            case .failure(let error):
                // An older library, or a project that this user may not write, must not cost the others their leases.
                guard group.count > 1, !error.isTransient else { return }
                self.singlyUntil = self.turn + Self.turnsSingly
                for lease in group { self.renew([lease], by: connection) }
            }
        }
    }

    private func renewed(_ renewal: Renewal, _ value: RedisValue, _ sentAt: UInt64) {
        let (project, name) = (renewal.project, renewal.lease.name)
        guard let reply = RenewReply(value) else { return }
        guard case .ok(let counters) = reply else { return reports.send(.fenced(project: project, name: name)) }
        leases.renewed(project, name: name, until: sentAt + configuration.leaseSpanNs)
        if counters.values.allSatisfy(FunctionLibrary.knowsCompactJobs) {
            restful.insert(project)
        } else if restful.remove(project) != nil {
            // An older worker has come, which would declare resting leases dead in its other projects, too.
            leases.renewEach()
        }
        if renewal.rests, let counter = counters[name], FunctionLibrary.isResting(counter) {
            leases.prolongRest(project, renewal.lease, until: sentAt + configuration.restSpanNs)
            // Not all of them in one turn.
            let turns = Int(configuration.restRenewMs / configuration.renewMs)
            if rests[project]?.wakes == renewal.lease.wakes, rests[project]?.name == name {
                rests[project]?.due = turn + turns - Int.random(in: 0...turns / 4)
            }
        }
        reports.send(.counters(project: project, counters: counters.map { (worker: $0.key, counter: $0.value) }))
    }

    /// This worker's report of itself, which is written at a change, and at every second renewal.
    private func report(_ renewal: Renewal) -> String? {
        let project = renewal.project
        let report = leases.report(in: project)
        if renewal.rests {
            rests[project]?.report = report
            written[project] = nil
            return card.text(report, leaseMs: configuration.restLeaseMs)
        }
        let text = card.text(report)
        let mayWait = 4 * configuration.renewMs <= configuration.leaseMs
        guard !mayWait || turn.isMultiple(of: 2) || written[project] != text else { return nil }
        written[project] = text
        return text
    }
}

extension WorkerConfiguration {
    var leaseSpanNs: UInt64 { Lease.spanNs(leaseMs: leaseMs, renewMs: renewMs) }
    /// The length of a resting lease, how often it is renewed, and how long after that it holds.
    var restLeaseMs: Int64 { 15 * leaseMs }
    var restRenewMs: Int64 { 6 * leaseMs }
    var restSpanNs: UInt64 { Lease.spanNs(leaseMs: restLeaseMs, renewMs: restRenewMs) }
}
