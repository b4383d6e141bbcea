internal import EventLoop
internal import FanfareCore
internal import FanfareMetrics
internal import FanfareModel
internal import RedisTransport
internal import StreamWire

/// Updates the gauges of one project: from this worker's roles with each call, from Redis once in five
/// seconds, and less often while the project is quiet.
final class ProjectGauges {
    private let project: ProjectContext
    private let channels: ProjectChannels
    private let credentials: any CredentialSource
    private let fleet: FleetGauges
    private let inFlight: GaugeCell
    private let limit: GaugeCell
    private let unwritten: GaugeCell
    private let ready: GaugeCell
    private let connections: GaugeCell
    private let managementConnections: GaugeCell
    private let info: GaugeCell
    private var isReading = false
    private var lastRead: UInt64?
    private var firstRead: UInt64 = 0

    /// Time between two calls of `fleet`, whose answer is small and bounded.
    private static let readNs: UInt64 = 5_000_000_000
    /// The same while the project is quiet.
    private static let quietReadNs: UInt64 = 300_000_000_000
    /// Whether the project was quiet at the last reading: its figures then stay.
    private var wasQuiet = false
    /// The status of a quiet project, and until when it is taken for the present one.
    private var quietStatus: (status: WorkerStatus.Project, until: UInt64)?
    private static let quietStatusNs: UInt64 = 1_000_000_000

    init(
        project: ProjectContext,
        channels: ProjectChannels,
        credentials: any CredentialSource
    ) {
        self.project = project
        self.channels = channels
        self.credentials = credentials
        let (id, registry) = (project.project.id, project.registry)
        let (transport, engine) = (project.project.transport.rawValue, project.project.httpEngine.rawValue)
        fleet = FleetGauges(project: id, registry: registry)
        inFlight = registry.gauge(MetricCatalogue.inFlight, id)
        limit = registry.gauge(MetricCatalogue.concurrencyLimit, id)
        unwritten = registry.gauge(MetricCatalogue.unwritten, id)
        ready = registry.gauge(MetricCatalogue.credentialsReady, id)
        connections = registry.gauge(MetricCatalogue.connections, id, transport)
        managementConnections = registry.gauge(MetricCatalogue.connections, id, "management")
        info = registry.gauge(MetricCatalogue.projectInfo, id, transport, engine)
        info.set(1)
    }

    /// Whether anything waited in Redis at the last reading.
    var isAnythingWaiting: Bool { fleet.waiting > 0 }

    func update() {
        guard !isKnown else { return }
        inFlight.set(project.machine.inFlight)
        limit.set(project.machine.limit.limit)
        unwritten.set(project.machine.gate.uncommitted)
        let open = channels.openConnections
        connections.set(open.sends)
        managementConnections.set(open.management)
        fleet.updateAge(now: project.loop.now)
        readFleet()
    }

    /// Whether the project is quiet, and was looked at a moment ago.
    private var isKnown: Bool { project.isQuiet && project.loop.now < quietStatus?.until ?? 0 }

    /// Sets what this worker holds to 0.
    func close() {
        for gauge in [inFlight, limit, unwritten, ready, connections, managementConnections, info] { gauge.set(0) }
    }

    /// Whether the project can send, and the reason if not.
    func status() -> WorkerStatus.Project {
        if isKnown, let quietStatus { return quietStatus.status }
        let status = presentStatus()
        quietStatus = (status, project.loop.now + Self.quietStatusNs)
        return status
    }

    private func presentStatus() -> WorkerStatus.Project {
        let gate = project.machine.gate
        let credential = credentials.readiness()
        let canSend = credential == .ready
        ready.set(canSend)
        var reason: SendGate.Reason?
        if let blocked = gate.blockReason {
            reason = .blocked(blocked)
        } else if let paused = gate.pauseReason {
            reason = .paused(paused)
        } else {
            switch credential {
            case .pending: reason = .credentialPending
            case .failed(let failure): reason = .credentialFailed(failure)
            // A quiet project reads no news until it has something to send.
            case .ready where project.isQuiet:
                reason = project.leaseHolds ? gate.reason(for: .claiming, now: project.loop.now) : .leaseLost
            case .ready: reason = gate.reason(for: .sending, now: project.loop.now)
            }
        }
        return WorkerStatus.Project(
            id: project.project.id,
            canSend: canSend,
            holdsLease: project.leaseHolds && !project.isDraining,
            state: reason?.description ?? "ready"
        )
    }

    /// Delays the first reading: a thousand projects that are opened together keep Redis busy without it.
    func readFirst(afterMs milliseconds: Int64) {
        if lastRead == nil { firstRead = project.loop.now + UInt64(milliseconds) * 1_000_000 }
    }

    private func readFleet() {
        let now = project.loop.now
        let nextRead =
            lastRead.map { $0 + (project.isQuiet && wasQuiet ? Self.quietReadNs : Self.readNs) }
            ?? (project.isQuiet ? firstRead : 0)
        guard now >= nextRead, !isReading, project.isReady, project.redis.state == .ready else { return }
        isReading = true
        (lastRead, wasQuiet) = (now, project.isQuiet)
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
