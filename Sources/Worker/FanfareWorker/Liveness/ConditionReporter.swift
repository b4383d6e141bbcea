internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Reports what stops a project's sends: a service that cannot be reached, and backpressure. It logs each condition
/// once a minute and its end, and tells Redis, where `fanfare`, the dashboard and the job hashes show it.
final class ConditionReporter {
    private enum Condition: Hashable {
        case unreachable(Reachability.Service)
        case pressure(String)
    }

    private let project: ProjectContext
    private let credentials: any CredentialSource
    private var notices: [Condition: ConditionNotice] = [:]
    /// When each condition began, Unix milliseconds.
    private var begins: [Condition: Int64] = [:]
    private var report = WorkerReport()
    private var pressure = ""
    /// So far; the projects of a worker begin at different numbers.
    private var checks = Int.random(in: 0..<quietChecks)
    private var isWriting = false
    private var nextWrite: UInt64 = 0
    private var redisRefusedAt: UInt64?

    private static let pressures = ["memory", "eviction", "results", "feedback", "dead", "upstream"]
    private static let checkMs: Int64 = 1_000
    /// One check of so many is made while the project is quiet.
    private static let quietChecks = 5
    /// Time between two updates of the reasons of open jobs, while they have one.
    private static let writeNs: UInt64 = 5_000_000_000
    /// The same while no condition holds: another worker may have died before it removed them.
    private static let quietWriteNs: UInt64 = 60_000_000_000
    /// Redis counts as full for this long after it refused a write.
    private static let fullNs: UInt64 = 5_000_000_000

    init(project: ProjectContext, credentials: any CredentialSource) {
        self.project = project
        self.credentials = credentials
    }

    func start() {
        project.every(milliseconds: Self.checkMs) { [weak self] in
            guard let self else { return }
            checks += 1
            if !project.isQuiet || checks.isMultiple(of: Self.quietChecks) { check() }
        }
    }

    /// Learns that Redis refused a write.
    func refused(_ error: RedisError) {
        if error.code == .outOfMemory { redisRefusedAt = project.loop.now }
    }

    private func check() {
        let now = project.loop.now
        var current = WorkerReport(inFlight: project.machine.inFlight)
        current.isAnswering = project.reachability.isAnswering(now: now)
        current.isRedisFull = redisRefusedAt.map { now - $0 < Self.fullNs } ?? false
        for service in Reachability.Service.allCases {
            let unreachable = project.reachability.condition(of: service, now: now)
            log(unreachable, of: service)
            // While the old access token works, sends continue.
            guard let unreachable, service != .tokenEndpoint || credentials.isStuck else { continue }
            if service != .management, current.unreachable == nil { current.unreachable = unreachable }
        }
        let pressure = current.isRedisFull ? "memory" : project.pressure ?? ""
        logPressure(pressure)
        project.leases.setReport(current, in: project.project.id)
        write(current, pressure)
    }

    // MARK: Log

    private func log(_ unreachable: Reachability.Condition?, of service: Reachability.Service) {
        let condition = Condition.unreachable(service)
        var name = project.reachability.name(of: service)
        name = name.prefix(1).uppercased() + name.dropFirst()
        let action = notices[condition, default: ConditionNotice(patienceSeconds: 0)]
            .observe(unreachable != nil, now: project.loop.now)
        if let unreachable { begins[condition] = unreachable.sinceMs }
        switch action {
        case .warn:
            project.logger.warning(
                "\(name) \(Self.sentence(service, unreachable?.kind ?? .other, hasProxy: project.configuration.proxy != nil))",
                metadata: ["cause": "\(unreachable?.cause ?? "")", "since": "\(since(condition))"]
            )
        case .recover:
            let end =
                project.reachability.isWithoutFailure(service)
                ? "answers again." : "was not tried for some time: it is not known whether it can be reached."
            project.logger.notice("\(name) \(end)", metadata: ["since": "\(since(condition))"])
        case nil: break
        }
    }

    /// What to say after the service's name.
    ///
    /// - Parameters:
    ///   - kind: of the failure. The log's `cause` names the remedy where the limit of open files is reached.
    ///   - hasProxy: whether the setting `proxy` is there already.
    static func sentence(_ service: Reachability.Service, _ kind: Reason.Kind, hasProxy: Bool) -> String {
        let head = "cannot be reached"
        if kind == .files {
            return
                "\(head), because this worker has too many open files: its requests wait. The cause says what to raise."
        }
        let (effect, route): (String, String) =
            switch service {
            case .messages: ("its sends wait, and continue by themselves", "the endpoint, DNS, TLS and the route to it")
            case .tokenEndpoint:
                ("without an access token nothing is sent", "the credential's URLs, DNS, TLS and the route")
            case .management:
                ("subscriptions and group operations wait", "the endpoint, DNS, TLS and the route to it")
            }
        let hint = hasProxy ? "the proxy" : HTTPProxy.hint
        let proxyRemedy = kind == .proxyLogin ? kind.remedy : nil
        let remedy = proxyRemedy.map { "Remedy: \($0)." } ?? "Check \(route); \(hint)."
        return "\(head): \(effect). \(remedy)"
    }

    /// - Parameter current: why workers take no jobs; empty for no reason.
    private func logPressure(_ current: String) {
        for kind in Self.pressures where kind != "memory" || project.isFirst {
            let condition = Condition.pressure(kind)
            let holds = kind == current
            if holds, begins[condition] == nil { begins[condition] = project.wallMs }
            let action = notices[condition, default: ConditionNotice(patienceSeconds: 0)]
                .observe(holds, now: project.loop.now)
            var logger = project.logger
            if kind == "memory" { logger[metadataKey: "project"] = nil }
            switch action {
            case .warn:
                logger.warning(
                    "No job is taken and nothing is sent until this is over; nothing is dropped.",
                    metadata: [
                        "cause": "\(OverviewReply.text(ofPressure: kind) ?? kind)", "since": "\(since(condition))",
                    ]
                )
            case .recover: logger.notice("Jobs are taken again.", metadata: ["since": "\(since(condition))"])
            case nil: break
            }
            if !holds { begins[condition] = nil }
        }
    }

    private func since(_ condition: Condition) -> String {
        CalendarTime(unixMs: begins[condition] ?? project.wallMs).rfc3339
    }

    // MARK: Redis

    /// Writes the reasons of open jobs at a change, and at intervals.
    ///
    /// - Parameter why: why workers take no jobs; empty for no reason.
    private func write(_ current: WorkerReport, _ why: String) {
        let isSame =
            (current.unreachable, current.isRedisFull, why) == (report.unreachable, report.isRedisFull, pressure)
        let now = project.loop.now
        let hasCondition = current.unreachable != nil || !why.isEmpty
        // A quiet project has no open job that could show a reason.
        let isDue = now >= nextWrite && !(project.isQuiet && !hasCondition)
        guard !isSame || isDue, !isWriting, project.isReady, project.redis.state == .ready else { return }
        (report, pressure, isWriting) = (current, why, true)
        nextWrite = now + (hasCondition ? Self.writeNs : Self.quietWriteNs)
        let call = FunctionLibrary.writeReasons(
            project.keys,
            worker: project.leaseName,
            about: project.registration.text(current),
            pressure: OverviewReply.text(ofPressure: why) ?? ""
        )
        project.redis.send(call) { [weak self] result in
            guard let self else { return }
            isWriting = false
            // Repeated soon: the change must not wait for the next condition.
            if case .failure = result { nextWrite = min(nextWrite, project.loop.now + Self.writeNs) }
        }
    }
}
