internal import FanfareCore
internal import FanfareMetrics
internal import FanfareModel
internal import StreamWire

/// The counters and histograms of one project. Every series is made at the start; counting adds to a number, without a
/// look-up, a lock or an allocation, unless a recipient fails.
final class ProjectMeters {
    /// The series of sends, or of management requests.
    private struct Series {
        let verdicts: [CounterCell]
        let latency: HistogramCell

        init(_ registry: MetricRegistry, project: String, transport: String) {
            verdicts = Verdict.names.map { registry.counter(MetricCatalogue.sends, project, transport, $0) }
            latency = registry.histogram(MetricCatalogue.sendLatency, project, transport)
        }
    }

    private let sends: Series
    private let management: Series
    private let statuses: [CounterCell]
    private let errors: [ErrorCode: CounterCell]
    private let causes: [CounterCell]
    private let retryDelay: HistogramCell
    private let maybeDuplicates: CounterCell
    private let projects: CounterCell
    private let devices: CounterCell
    private let servers: CounterCell
    private let jobs: [IntakeOutcome: CounterCell]
    private let batches: [BatchOutcome: CounterCell]
    private let takeovers: CounterCell
    private let guardPauses: [PauseGuard: CounterCell]
    private let batchTime: HistogramCell
    private let queueWait: HistogramCell
    private let redisErrors: CounterCell
    private let repairs: CounterCell
    /// For the project's history in Redis. Management requests are left out of its latencies.
    var history = HistoryCounts()

    init(project: String, transport: Transport, registry: MetricRegistry) {
        func counter(_ metric: Metric, _ value: String) -> CounterCell { registry.counter(metric, project, value) }
        func counters<Value: CaseIterable & RawRepresentable<String>>(_ metric: Metric) -> [Value: CounterCell] {
            Dictionary(uniqueKeysWithValues: Value.allCases.map { ($0, counter(metric, $0.rawValue)) })
        }
        sends = Series(registry, project: project, transport: transport.rawValue)
        management = Series(registry, project: project, transport: "management")
        statuses = ResultStatus.allCases.map { counter(MetricCatalogue.results, $0.rawValue) }
        errors = counters(MetricCatalogue.failures)
        causes = Retry.Cause.names.map { counter(MetricCatalogue.retries, $0) }
        retryDelay = registry.histogram(MetricCatalogue.retryDelay, project)
        maybeDuplicates = registry.counter(MetricCatalogue.maybeDuplicates, project)
        projects = counter(MetricCatalogue.refusals, "project")
        devices = counter(MetricCatalogue.refusals, "device")
        servers = counter(MetricCatalogue.refusals, "server")
        jobs = counters(MetricCatalogue.jobs)
        batches = counters(MetricCatalogue.batches)
        takeovers = registry.counter(MetricCatalogue.takeovers, project)
        guardPauses = counters(MetricCatalogue.guardPauses)
        batchTime = registry.histogram(MetricCatalogue.batchTime, project)
        queueWait = registry.histogram(MetricCatalogue.queueWait, project)
        redisErrors = registry.counter(MetricCatalogue.redisErrors)
        repairs = registry.counter(MetricCatalogue.repairs, project)
    }

    // MARK: On the data path

    func count(_ meter: SendMeter) {
        switch meter {
        case .answered(let verdicts, let isManagement, let afterNs):
            answered(verdicts, isManagement: isManagement, afterNs: afterNs)
        case .finished(let status, let error, let maybeDup):
            statuses[status.index].add()
            if status == .failed, let error { errors[error]?.add() }
            if maybeDup { maybeDuplicates.add() }
            history.finished(status, error, maybeDup: maybeDup)
        case .retried(let cause, let delayMs):
            causes[cause.index].add()
            retryDelay.observe(Double(max(0, delayMs)) / 1_000)
            history.retried()
        case .waited(let milliseconds, let recipients):
            queueWait.observe(Double(max(0, milliseconds)) / 1_000, times: recipients)
        case .tookOver: takeovers.add()
        case .paused(let pausedBy): guardPauses[pausedBy]?.add()
        case .letGo(let outcome, let afterNs):
            batches[outcome]?.add()
            if outcome == .closed { batchTime.observe(Double(afterNs) / 1e9) }
        }
    }

    /// Counts the verdicts on a request that was answered or abandoned.
    private func answered(_ verdicts: [Verdict], isManagement: Bool, afterNs: UInt64) {
        let series = isManagement ? management : sends
        var held = (project: false, server: false)
        for verdict in verdicts {
            series.verdicts[verdict.index].add()
            switch verdict.heldScope {
            case .project: held.project = true
            case .server: held.server = true
            case .device: devices.add()
            case nil: break
            }
        }
        // A request is refused once, however many recipients it had.
        if held.project { projects.add() }
        if held.server { servers.add() }
        series.latency.observe(Double(afterNs) / 1e9)
        if !isManagement { history.answered(afterMs: Double(afterNs) / 1e6) }
    }

    // MARK: Once a job, a batch or a failure

    func count(_ outcome: IntakeOutcome) { jobs[outcome]?.add() }

    func redisFailed() { redisErrors.add() }

    func repaired(_ jobs: Int) { if jobs > 0 { repairs.add(jobs) } }
}

extension Verdict {
    fileprivate static let names = [
        "sent", "failed", "unknown", "retry", "managed", "credential_refused", "project_blocked",
    ]

    fileprivate var index: Int {
        switch self {
        case .sent, .sentPartly: return 0
        case .failed: return 1
        case .unknown: return 2
        case .retry: return 3
        case .managed, .listed: return 4
        case .refreshCredential: return 5
        case .blockProject: return 6
        }
    }

    fileprivate enum Scope { case project, device, server }

    /// Whose limit or failure holds sends back; nil where nothing does.
    fileprivate var heldScope: Scope? {
        switch self {
        case .retry(let retry):
            if (500...599).contains(retry.failure.httpStatus) { return .server }
            switch retry.scope {
            case .project: return .project
            case .device, .topic: return .device
            case .recipient: return nil
            }
        case .unknown(let failure, _): return (500...599).contains(failure.httpStatus) ? .server : nil
        case .sent, .sentPartly, .managed, .listed, .failed, .refreshCredential, .blockProject: return nil
        }
    }
}

extension Retry.Cause {
    fileprivate static let names = ["unsent", "refused", "answered", "unanswered"]

    fileprivate var index: Int {
        switch self {
        case .unsent: return 0
        case .refused: return 1
        case .answered: return 2
        case .unanswered: return 3
        }
    }
}

extension ResultStatus {
    /// In the order of `allCases`.
    fileprivate var index: Int {
        switch self {
        case .sent: return 0
        case .failed: return 1
        case .unknown: return 2
        case .cancelled: return 3
        case .expired: return 4
        }
    }
}
