internal import EventLoop
internal import FanfareConfiguration
internal import FanfareMetrics
internal import FanfareWorker
internal import FoundationEssentials
internal import Glibc
internal import Logging

/// Reads a worker's configuration again on SIGHUP and when a watched file has changed, on a thread of its own. A state
/// that is refused changes nothing.
struct ConfigurationWatcher: Sendable {
    let source: ConfigurationSource
    let hangUps: HangUps
    let worker: Worker
    let logger: Logger
    let meters: ReloadMeters

    /// Faults that one refused reload logs.
    private static let maximumFaults = 20

    /// - Parameters:
    ///   - running: the state that the worker was started with.
    ///   - files: the watched files as they were before that state was read.
    func start(from running: LoadedState, _ files: WatchedFiles) throws {
        try BackgroundThread.detach { watch(running, files) }
    }

    private func watch(_ running: LoadedState, _ files: WatchedFiles) {
        var running = running
        var trigger = ReloadTrigger(files, nowMs: SystemClock.bootMs)
        var reported: [String] = []
        while true {
            if hangUps.wait(milliseconds: ReloadTrigger.intervalMs) { trigger.order() }
            let (now, nowMs) = (WatchedFiles(trigger.paths), SystemClock.bootMs)
            guard trigger.observe(now, nowMs: nowMs, isRefused: !reported.isEmpty) else { continue }
            let attempt = running.next(source)
            let isOrdered = trigger.isOrdered
            let isChanged = isOrdered || trigger.isChanged(attempt.files)
            trigger.read(attempt.files, nowMs: nowMs)
            let faults: [String]
            switch attempt.result {
            case .failure(let error): faults = error.faults
            case .success(let state): faults = state.refused.keys.sorted().flatMap { state.refused[$0] ?? [] }
            }
            let isNews = faults != reported
            reported = faults
            if faults.isEmpty, isNews { logger.notice("The configuration is good again.") }
            if isNews || isOrdered { report(attempt.result) }
            switch attempt.result {
            case .failure:
                if isNews || isChanged { meters.refused() }
            case .success(let state):
                let isSame = state.configuration == running.configuration && state.secrets == running.secrets
                if !isSame || isOrdered { accept(state, running) }
                if isNews || isChanged { meters.accepted(isPartial: !faults.isEmpty) }
                running = state
            }
        }
    }

    private func accept(_ state: LoadedState, _ old: LoadedState) {
        let warnings = state.configuration.warnings + state.secrets.warnings
        let known = old.configuration.warnings + old.secrets.warnings
        for warning in warnings where !known.contains(warning) {
            logger.warning("Configuration warning; run `fanfare config check`.", metadata: ["what": "\(warning)"])
        }
        for (project, reason) in state.secrets.deleted.sorted(by: { $0.key < $1.key })
        where old.secrets.deleted[project] == nil {
            logger.error(
                "A project has lost its credential, and sends nothing until the file is back.",
                metadata: ["project": "\(project)", "reason": "\(reason)"]
            )
        }
        worker.reload(WorkerConfiguration(state.configuration, secrets: state.secrets, redis: state.redis))
    }

    private func report(_ result: Result<LoadedState, ConfigurationError>) {
        switch result {
        case .failure(let error):
            for fault in error.faults.prefix(Self.maximumFaults) {
                logger.error(
                    "The changed configuration is refused, and nothing changes: correct it.",
                    metadata: ["problem": "\(fault)"]
                )
            }
        case .success(let state):
            for (project, faults) in state.refused.sorted(by: { $0.key < $1.key }).prefix(Self.maximumFaults) {
                for fault in faults.prefix(Self.maximumFaults) {
                    logger.error(
                        "A file of projects_dir is refused, and its project stays as it was: correct the file.",
                        metadata: ["project": "\(project)", "problem": "\(fault)"]
                    )
                }
            }
        }
    }
}

/// The metrics of a worker's configuration.
struct ReloadMeters: Sendable {
    private let attempts: (accepted: CounterCell, refused: CounterCell)
    private let isRefused: GaugeCell
    private let loadedAt: GaugeCell

    init(_ registry: MetricRegistry) {
        func attempts(_ result: String) -> CounterCell { registry.counter(MetricCatalogue.configReloads, result) }
        self.attempts = (attempts("accepted"), attempts("refused"))
        isRefused = registry.gauge(MetricCatalogue.configRefused)
        loadedAt = registry.gauge(MetricCatalogue.configLoaded)
        loadedAt.set(Date().timeIntervalSince1970)
    }

    /// A state was taken up.
    ///
    /// - Parameter isPartial: whether a file of `projects_dir` was refused.
    func accepted(isPartial: Bool) {
        (isPartial ? attempts.refused : attempts.accepted).add()
        isRefused.set(isPartial)
        loadedAt.set(Date().timeIntervalSince1970)
    }

    func refused() {
        attempts.refused.add()
        isRefused.set(true)
    }
}
