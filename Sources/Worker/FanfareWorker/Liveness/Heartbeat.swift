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
    private let makeConnection: ((_ project: String) -> any CommandConnection)?

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
            for lease in leases.held { renew([lease], by: connections[lease.project]) }
            return
        }
        let held = leases.held
        let groupSize = turn < singlyUntil ? 1 : Self.groupSize
        for start in stride(from: 0, to: held.count, by: groupSize) {
            renew(Array(held[start..<min(start + groupSize, held.count)]), by: connection)
        }
    }

    /// Renews the leases of a connection's projects by one call.
    private func renew(_ group: [(project: String, name: String)], by connection: (any CommandConnection)?) {
        // The lease begins before the call is sent: Redis may apply it at any time after this.
        let sentAt = SystemClock.bootNs
        let renewals = group.map {
            (
                keys: ProjectKeys(prefix: configuration.prefix, project: $0.project), worker: $0.name,
                about: report($0.project)
            )
        }
        let call =
            group.count == 1
            ? FunctionLibrary.renew(renewals[0].keys, worker: renewals[0].worker, about: renewals[0].about)
            : FunctionLibrary.renew(renewals)
        connection?.send(call, timeoutMs: configuration.renewMs) { result in
            switch result {
            case .success(let value):
                let replies = group.count == 1 ? [value] : value.array ?? []
                for (lease, reply) in zip(group, replies) { self.renewed(lease.project, lease.name, reply, sentAt) }
            case .failure(let error):
                // An older library, or a project that this user may not write, must not cost the others their leases.
                guard group.count > 1, !error.isTransient else { return }
                self.singlyUntil = self.turn + Self.turnsSingly
                for lease in group { self.renew([lease], by: connection) }
            }
        }
    }

    private func renewed(_ project: String, _ name: String, _ value: RedisValue, _ sentAt: UInt64) {
        guard let reply = RenewReply(value) else { return }
        guard case .ok(let counters) = reply else { return reports.send(.fenced(project: project, name: name)) }
        leases.renewed(project, name: name, until: sentAt + configuration.leaseSpanNs)
        reports.send(.counters(project: project, counters: counters.map { (worker: $0.key, counter: $0.value) }))
    }

    /// This worker's report of itself, which is written at a change, and at every second renewal.
    private func report(_ project: String) -> String? {
        let text = card.text(leases.report(in: project))
        let mayWait = 4 * configuration.renewMs <= configuration.leaseMs
        guard !mayWait || turn.isMultiple(of: 2) || written[project] != text else { return nil }
        written[project] = text
        return text
    }
}

extension WorkerConfiguration {
    var leaseSpanNs: UInt64 { Lease.spanNs(leaseMs: leaseMs, renewMs: renewMs) }
}
