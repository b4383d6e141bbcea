internal import EventLoop
internal import FanfareCore
internal import FanfareMetrics
internal import HTTPLanes
internal import Logging

/// Everything that lives on one loop: its Redis connections, its projects, and the order in which they stop.
final class WorkerShard {
    private let loop: EventLoop
    private let configuration: WorkerConfiguration
    private let leases: LeaseTable
    private let registry: MetricRegistry
    private let logger: Logger
    private var links: [ServerLink] = []
    private var register: ProjectRegister
    private var unserved: UnservedWatch?
    private let quarantine: Quarantine
    private let pools = PoolGroup()
    private let tokenConnections = TokenConnections()
    private var runners: [ProjectRunner] { links.flatMap(\.runners) }
    private let monitor: Monitor
    private let finished: (WorkerEnd) -> Void
    private let makeConnection: ((_ name: String) -> any CommandConnection)?
    private var drainDeadline: UInt64 = 0
    private var isDraining = false
    private var idleRounds = 0
    /// The projects of the last configuration that was taken up.
    private var target: [WorkerConfiguration.Project]
    /// Projects that are being drained while the worker runs, by their ids.
    private var transitions: [String: ProjectTransition] = [:]
    private var retries = OpenRetries()
    private var lostWorkers = LostWorkers()

    /// - Parameter connection: makes a connection with a name; nil: to the configured server.
    init(
        loop: EventLoop,
        configuration: WorkerConfiguration,
        leases: LeaseTable,
        watch: WorkerWatch,
        logger: Logger,
        connection: ((_ name: String) -> any CommandConnection)? = nil,
        finished: @escaping (WorkerEnd) -> Void
    ) throws {
        makeConnection = connection
        monitor = Monitor(loop: loop, watch: watch)
        self.loop = loop
        self.configuration = configuration
        self.leases = leases
        registry = watch.registry
        self.logger = logger
        self.finished = finished
        target = configuration.projects
        let ids = target.map(\.id)
        quarantine = Quarantine(projects: ids)
        register = ProjectRegister(
            loop: loop,
            configuration: configuration,
            projects: ids,
            logger: logger,
            connection: connection
        )
        let groups = configuration.isCluster ? target.map { [$0] } : [target]
        links = try groups.map { try makeLink($0) }
        if !configuration.isCluster {
            unserved = links.first.map {
                UnservedWatch(loop: loop, redis: $0.redis, configuration: configuration, logger: logger)
            }
        }
    }

    private func makeLink(_ projects: [WorkerConfiguration.Project]) throws -> ServerLink {
        try ServerLink(
            loop: loop,
            configuration: configuration,
            projects: projects,
            leases: leases,
            quarantine: quarantine,
            pools: pools,
            tokenConnections: tokenConnections,
            registry: registry,
            logger: logger,
            connection: makeConnection
        )
    }

    func start() {
        monitor.snapshot = { [weak self] in self?.snapshot ?? WorkerStatus.Snapshot() }
        quarantine.onBegin = { [weak self] next in
            self?.runner(of: next.project)?.beginQuarantined(next.mode)
        }
        loop.onTurnEnd { [weak self] in
            guard let self, quarantine.gate.isAwaited else { return }
            for runner in runners { runner.reportToQuarantine() }
        }
        for link in links { start(link) }
        register.start()
        unserved?.start()
        monitor.start()
        if configuration.exitWhenIdle { watchForIdleness() }
    }

    private func start(_ link: ServerLink) {
        link.onReconnected = { [weak self] in self?.monitor.reconnected() }
        link.onLost = { [weak self] worker, project, batches in self?.lost(worker, project, batches) }
        link.start()
    }

    func observed(_ report: Heartbeat.Report) {
        switch report {
        case .counters(let project, let counters):
            runner(of: project)?.reclaimer.observe(counters)
        case .fenced(let project, let name):
            runner(of: project)?.session.declaredDead(name)
        case .functionsMissing(let project):
            let link = links.first { project.isEmpty || $0.runner(of: project) != nil }
            link?.handle(.functionMissing)
        }
    }

    private var snapshot: WorkerStatus.Snapshot {
        for runner in runners { runner.gauges.update() }
        return WorkerStatus.Snapshot(
            redis: links.first { !$0.isLoaded }?.condition ?? "connected",
            isConnected: links.allSatisfy(\.isLoaded),
            isDraining: isDraining,
            projects: runners.map { $0.gauges.status() }
        )
    }

    private func runner(of project: String) -> ProjectRunner? {
        for link in links { if let runner = link.runner(of: project) { return runner } }
        return nil
    }

    // MARK: Lost workers

    /// Waits until the renewals of every project had time to show the loss, and logs it once.
    private func lost(_ lease: String, _ project: String, _ batches: Int64) {
        guard let worker = lostWorkers.add(lease: lease, project: project, batches: batches) else { return }
        for runner in runners { runner.reclaimer.suspect(worker) }
        leases.renewEach()
        loop.schedule(afterMilliseconds: configuration.renewMs + 1_000) { [weak self] in self?.logLoss(of: worker) }
    }

    private func logLoss(of worker: String) {
        guard let loss = lostWorkers.remove(worker) else { return }
        logger.warning(
            "A worker is lost; its batches are taken over.",
            metadata: ["worker": "\(worker)", "batches": "\(loss.batches)", "projects": "\(loss.projectNames)"]
        )
    }

    // MARK: Reload

    /// Takes up the projects of another configuration.
    func reload(_ new: WorkerConfiguration) {
        guard !isDraining else { return }
        let plan = ReloadPlan(running: target, target: new.projects)
        target = new.projects
        let keys = configuration.restartKeys(new)
        if !keys.isEmpty {
            logger.warning(
                "Changed settings keep their old values until the worker restarts.",
                metadata: ["settings": "\(keys.joined(separator: ", "))"]
            )
        }
        guard !plan.isEmpty else { return logger.info("The configuration was read again: no project has changed.") }
        logger.notice("The configuration was read again.", metadata: Self.metadata(plan))
        unserved?.own = Set(target.map(\.id))
        retries.reset()
        if !plan.added.isEmpty {
            register.close()
            register = ProjectRegister(
                loop: loop,
                configuration: configuration,
                projects: target.map(\.id),
                logger: logger,
                connection: makeConnection
            )
            register.start()
        }
        applyTarget()
    }

    private static func metadata(_ plan: ReloadPlan) -> Logger.Metadata {
        let lists = [
            ("added", plan.added.map(\.id)), ("removed", plan.removed), ("reopened", plan.reopened.map(\.id)),
            ("updated", plan.updated.map(\.id)),
        ]
        var metadata: Logger.Metadata = [:]
        for (name, ids) in lists where !ids.isEmpty {
            let more = ids.count > maximumNames ? ", and \(ids.count - maximumNames) more" : ""
            metadata[name] = "\(ids.prefix(maximumNames).joined(separator: ", "))\(more)"
        }
        return metadata
    }

    private static let maximumNames = 20

    /// Begins what is missing between the running projects and ``target``. The end of each transition calls it again, so a
    /// reload during another one needs no further state.
    private func applyTarget() {
        guard !isDraining else { return }
        let plan = ReloadPlan(running: runners.map(\.context.project), target: target)
        for project in plan.updated where transitions[project.id] == nil {
            runner(of: project.id)?.update(project)
        }
        for id in plan.removed + plan.reopened.map(\.id) where transitions[id] == nil {
            guard let runner = runner(of: id) else { continue }
            let transition = ProjectTransition(runner, drainMs: configuration.drainMs) { [weak self] in self?.closed(id)
            }
            transitions[id] = transition
            transition.start()
        }
        closeUnused()
        for project in plan.added where retries.admits(project.id, now: loop.now) { open(project) }
    }

    /// Forgets closed projects that are not opened again, and closes the links that no project needs in a cluster.
    private func closeUnused() {
        let ids = Set(target.map(\.id))
        for link in links { link.forgetClosedProjects(except: ids) }
        guard configuration.isCluster else { return }
        for link in links where link.isUnused {
            link.reader.stop()
            link.close()
        }
        links.removeAll(where: \.isUnused)
    }

    private func closed(_ id: String) {
        guard !isDraining, let transition = transitions.removeValue(forKey: id) else { return }
        guard let link = links.first(where: { $0.runners.contains { $0 === transition.runner } }) else { return }
        link.close(transition.runner)
        if !target.contains(where: { $0.id == id }) {
            registry.removeProject(id)
            logger.notice("A project was removed.", metadata: ["project": "\(id)"])
        }
        applyTarget()
    }

    private func open(_ project: WorkerConfiguration.Project) {
        do {
            let isReopened = try begin(project)
            retries.opened(project.id)
            monitor.measureTurns()
            logger.notice(
                isReopened ? "A project runs under its new settings." : "A project was added.",
                metadata: ["project": "\(project.id)"]
            )
        } catch {
            // The state was checked before, so this is an error of the check. Other projects continue.
            let pauseMs = retries.failed(project.id, now: loop.now)
            logger.error(
                "A project cannot be opened, and is tried again: correct its credential.",
                metadata: ["project": "\(project.id)", "error": "\(error)", "again_in_ms": "\(pauseMs)"]
            )
            loop.schedule(afterMilliseconds: pauseMs) { [weak self] in self?.applyTarget() }
        }
    }

    /// - Returns: whether the worker ran the project before, under other settings.
    private func begin(_ project: WorkerConfiguration.Project) throws -> Bool {
        let link = configuration.isCluster ? links.first { $0.hasClosed(project.id) } : links.first
        if let link { return try link.open(project).isReopened }
        let new = try makeLink([project])
        links.append(new)
        start(new)
        return false
    }

    // MARK: Ending

    private func watchForIdleness() {
        loop.schedule(afterMilliseconds: 100) { [weak self] in
            guard let self, !isDraining else { return }
            let isIdle =
                links.allSatisfy { $0.isLoaded && $0.reader.foundNothing }
                && runners.allSatisfy { $0.isReady && $0.isIdle }
            idleRounds = isIdle ? idleRounds + 1 : 0
            // Three checks in a row: at one of them a job may be between two roles.
            if idleRounds >= 3 { return drain() }
            watchForIdleness()
        }
    }

    func drain() {
        guard !isDraining else { return }
        isDraining = true
        monitor.updateNow()
        logger.info("Draining.", metadata: ["worker": "\(configuration.name)"])
        drainDeadline = loop.now + UInt64(configuration.drainMs) * 1_000_000
        for runner in runners { runner.drain() }
        for link in links { link.reader.stop() }
        awaitDrained()
    }

    private func awaitDrained() {
        let isClean = runners.allSatisfy(\.isDrained)
        guard isClean || loop.now >= drainDeadline else {
            loop.schedule(afterMilliseconds: 5) { [weak self] in self?.awaitDrained() }
            return
        }
        if !isClean {
            logger.warning("The drain's time is over; what is on the wire is left in doubt.")
        }
        var waiting = runners.count
        guard waiting > 0 else { return close(.drained) }
        for runner in runners {
            runner.leave { [weak self] in
                waiting -= 1
                if waiting == 0 { self?.close(isClean ? .drained : .timedOut) }
            }
        }
    }

    private func close(_ end: WorkerEnd) {
        for worker in lostWorkers.workers { logLoss(of: worker) }
        for runner in runners { runner.close() }
        register.close()
        for link in links { link.close() }
        loop.stop()
        finished(end)
    }
}
