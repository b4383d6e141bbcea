internal import EventLoop
internal import FanfareMetrics
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Everything that lives on one loop: its Redis connections, its projects, and the order in which they stop.
final class WorkerShard {
    private let loop: EventLoop
    private let configuration: WorkerConfiguration
    private let logger: Logger
    private let links: [ServerLink]
    private let register: ProjectRegister
    private let quarantine: Quarantine
    private var runners: [ProjectRunner] { links.flatMap(\.runners) }
    private let monitor: Monitor
    private let finished: (WorkerEnd) -> Void
    private var drainDeadline: UInt64 = 0
    private var isDraining = false
    private var idleRounds = 0

    init(
        loop: EventLoop,
        configuration: WorkerConfiguration,
        leases: LeaseTable,
        watch: WorkerWatch,
        logger: Logger,
        finished: @escaping (WorkerEnd) -> Void
    ) throws {
        monitor = Monitor(loop: loop, watch: watch)
        self.loop = loop
        self.configuration = configuration
        self.logger = logger
        self.finished = finished
        let quarantine = Quarantine(projects: configuration.projects.map(\.id))
        self.quarantine = quarantine
        let isCluster = configuration.redis.form == .cluster
        links = try (isCluster ? configuration.projects.map { [$0] } : [configuration.projects]).map { projects in
            try ServerLink(
                loop: loop,
                configuration: configuration,
                projects: projects,
                leases: leases,
                quarantine: quarantine,
                registry: watch.registry,
                logger: logger
            )
        }
        register = ProjectRegister(loop: loop, configuration: configuration, logger: logger)
    }

    func start() {
        monitor.snapshot = { [weak self] in self?.snapshot ?? WorkerStatus.Snapshot() }
        quarantine.onBegin = { [weak self] id in self?.runners.first { $0.id == id }?.beginQuarantined() }
        for link in links {
            link.onReconnected = { [weak self] in self?.monitor.reconnected() }
            link.start()
        }
        register.start()
        monitor.start()
        if configuration.exitWhenIdle { watchForIdleness() }
    }

    func observed(_ report: Heartbeat.Report) {
        switch report {
        case .counters(let project, let counters):
            runners.first { $0.id == project }?.reclaimer.observe(counters)
        case .fenced(let project, let name):
            runners.first { $0.id == project }?.fenced(name: name)
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
        for runner in runners {
            runner.leave { [weak self] in
                waiting -= 1
                if waiting == 0 { self?.close(isClean ? .drained : .timedOut) }
            }
        }
    }

    private func close(_ end: WorkerEnd) {
        for runner in runners { runner.close() }
        register.close()
        for link in links { link.close() }
        loop.stop()
        finished(end)
    }
}
