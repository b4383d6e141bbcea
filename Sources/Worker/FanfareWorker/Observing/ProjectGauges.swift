internal import EventLoop
internal import FanfareMetrics
internal import FanfareModel
internal import RedisTransport
internal import StreamWire

/// Updates the gauges of one project: from this worker's roles with each call, from Redis once in five seconds.
final class ProjectGauges {
    private let project: ProjectContext
    private let dispatcher: Dispatcher
    private let recorder: Recorder
    private let router: TransportRouter
    private let credentials: any CredentialSource
    private let fleet: FleetGauges
    private let inFlight: GaugeCell
    private let limit: GaugeCell
    private let unwritten: GaugeCell
    private let ready: GaugeCell
    private let connections: GaugeCell
    private let managementConnections: GaugeCell
    private var isReading = false
    private var nextRead: UInt64 = 0

    /// Time between two calls of `fleet`, whose answer is small and bounded.
    private static let readNs: UInt64 = 5_000_000_000

    init(
        project: ProjectContext,
        dispatcher: Dispatcher,
        recorder: Recorder,
        router: TransportRouter,
        credentials: any CredentialSource
    ) {
        self.project = project
        self.dispatcher = dispatcher
        self.recorder = recorder
        self.router = router
        self.credentials = credentials
        let (id, registry) = (project.project.id, project.registry)
        fleet = FleetGauges(project: id, registry: registry)
        inFlight = registry.gauge(MetricCatalogue.inFlight, id)
        limit = registry.gauge(MetricCatalogue.concurrencyLimit, id)
        unwritten = registry.gauge(MetricCatalogue.unwritten, id)
        ready = registry.gauge(MetricCatalogue.credentialsReady, id)
        connections = registry.gauge(MetricCatalogue.connections, id, project.project.transport.rawValue)
        managementConnections = registry.gauge(MetricCatalogue.connections, id, "management")
    }

    func update() {
        inFlight.set(dispatcher.inFlight)
        limit.set(project.sendLimit.limit)
        unwritten.set(recorder.uncommitted)
        let open = router.openConnections
        connections.set(open.sends)
        managementConnections.set(open.management)
        fleet.updateAge(now: project.loop.now)
        readFleet()
    }

    /// The project's state, with the reason why nothing is sent if there is one.
    func status() -> WorkerStatus.Project {
        var (canSend, state) = (false, "")
        switch credentials.readiness() {
        case .ready: canSend = true
        case .wait: state = "credentials: waiting for an access token"
        case .failed(let failure): state = "credentials: \(failure.rawError)"
        }
        ready.set(canSend)
        if let reason = project.pauseReason { state = "paused: \(reason)" }
        if let reason = project.blockReason { state = "blocked: \(reason)" }
        if state.isEmpty { state = hindrance ?? "ready" }
        return WorkerStatus.Project(id: project.project.id, canSend: canSend, state: state)
    }

    /// A reason that ends by itself.
    private var hindrance: String? {
        if let pressure = project.pressure { return "pressure: \(pressure)" }
        if project.isHeld { return "held: FCM asked for a pause" }
        return project.leaseHolds ? nil : "no lease"
    }

    private func readFleet() {
        let now = project.loop.now
        guard now >= nextRead, !isReading, project.isReady, project.redis.state == .ready else { return }
        isReading = true
        nextRead = now + Self.readNs
        project.redis.send(FunctionLibrary.fleet(project.keys, most: 1)) { [weak self] result in
            guard let self else { return }
            isReading = false
            switch result {
            case .success(let value): fleet.update(value, now: project.loop.now)
            case .failure: project.meters.redisFailed()
            }
        }
    }
}
