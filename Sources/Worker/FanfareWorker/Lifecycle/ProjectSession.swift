internal import EventLoop
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Performs the actions of the project's ``SessionMachine``, and tells it what Redis answered.
final class ProjectSession {
    private let project: ProjectContext
    private let claimer: Claimer
    private let intake: Intake
    private let sends: SendDriver
    private let writer: FlushWriter
    private var machine: SessionMachine
    private let queue = ActionQueue<SessionAction>()
    private var comparisonFailures = LogThrottle(seconds: 10)
    private var registrationFailures = LogThrottle(seconds: 10)

    /// The name in the last call to register.
    private var registering = ""

    /// Called when sends and claims may begin.
    var onWork: () -> Void = {}

    /// - Parameter former: what the project's runner before this one left; nil for the first one.
    init(
        project: ProjectContext,
        claimer: Claimer,
        intake: Intake,
        sends: SendDriver,
        writer: FlushWriter,
        former: ClosedProject?
    ) {
        self.project = project
        self.claimer = claimer
        self.intake = intake
        self.sends = sends
        self.writer = writer
        machine = SessionMachine(
            leaseMs: project.configuration.leaseMs,
            pausesAfterFailover: project.configuration.usesSentinels,
            needsProbe: former != nil,
            missedFailover: former?.missedFailover ?? false
        )
    }

    var hasGroup: Bool { machine.hasGroup }
    var isRegistered: Bool { machine.isRegistered }
    var isCompared: Bool { machine.isCompared }
    /// Whether a probe is still to be asked for, with the next comparison.
    var needsProbe: Bool { machine.needsProbe }

    /// What the project's next runner on the same connection needs.
    var remains: ClosedProject {
        ClosedProject(replayBuffer: writer.replayBuffer, missedFailover: machine.missedFailover)
    }

    func handle(_ event: SessionMachine.Event) {
        let moment = SessionMachine.Moment(
            now: project.loop.now,
            isQuiet: !claimer.plan.isAsking && intake.isIdle,
            leaseHolds: project.leaseHolds
        )
        machine.handle(event, at: moment, into: &queue.actions)
        project.isReady = machine.isReady
        queue.perform { perform($0) }
    }

    /// This worker was declared dead under a name, which may be an earlier one.
    func declaredDead(_ name: String) {
        guard name == project.leaseName else { return }
        project.logger.warning("This worker was declared dead and starts over.", metadata: ["lease": "\(name)"])
        handle(.declaredDead)
    }

    private func perform(_ action: SessionAction) {
        switch action {
        case .createGroup: createGroup()
        case .readNewsAgain: claimer.plan.readNewsAgain()
        case .cut:
            project.connectionChanged()
            writer.cut()
            sends.handle(.redisLost)
        case .open(let isSameServer): writer.open(isSameServer: isSameServer)
        case .compare(let isSameServer): compare(isSameServer)
        case .writeAgain: writer.writeAgain()
        case .forget(let lost): sends.handle(.forgotten(lost))
        case .register: register()
        case .hold(let newsCursor, let since):
            // A worker that leaves takes its next name at once, and registers it no more.
            guard registering == project.leaseName else { break }
            project.leases.hold(project.project.id, until: since + project.configuration.leaseSpanNs)
            claimer.plan.registered(newsCursor: newsCursor)
        case .loseLease:
            sends.handle(.leaseLost)
            project.leases.lost(project.project.id)
        case .claim:
            onWork()
            claimer.claim(afterMs: 0)
        case .probe:
            send(FunctionLibrary.probe(project.keys)) { _, result in
                if case .success = result { .probed } else { nil }
            }
        case .drain: sends.handle(.drain)
        case .stop:
            claimer.close()
            writer.cut()
        case .arm(let timer, let time): arm(timer, at: time)
        }
    }

    private func arm(_ timer: SessionMachine.Timer, at time: UInt64) {
        let (now, connection) = (project.loop.now, machine.connection)
        project.loop.schedule(afterNanoseconds: time > now ? time - now : 0) { [weak self] in
            self?.handle(.timer(timer, connection: connection))
        }
    }

    // MARK: Calls

    /// Sends a command. The answer of an earlier connection is ignored.
    private func send(
        _ command: RedisCommand,
        _ answer: @escaping (ProjectSession, Result<RedisValue, RedisError>) -> SessionMachine.Answer?
    ) {
        let connection = machine.connection
        project.redis.send(command) { [weak self] result in
            guard let self, machine.connection == connection, let answer = answer(self, result) else { return }
            handle(.answered(answer, connection: connection))
        }
    }

    private func createGroup() {
        send(JobStream.createGroup(project.keys)) { session, result in
            guard case .failure(let error) = result, error.code != .busyGroup else { return .groupCreated }
            session.project.logger.error("The job stream cannot be prepared.", metadata: ["error": "\(error)"])
            return .groupFailed
        }
    }

    private func compare(_ isSameServer: Bool) {
        let command = FunctionLibrary.reconcile(
            project.keys,
            worker: project.leaseName,
            connection: project.connection,
            isSameServer: isSameServer,
            known: project.machine.known
        )
        send(command) { session, result in
            if case .success(let value) = result, let reply = ReconcileReply(value) {
                session.comparisonFailures.reset()
                return .compared(lost: reply.lost)
            }
            var error = "the answer has a form that this version does not know; give every worker the same version"
            if case .failure(let failure) = result { error = "\(failure)" }
            if session.comparisonFailures.admits(now: session.project.loop.now) {
                session.project.logger.warning(
                    "Redis cannot say yet which batches this worker holds.",
                    metadata: ["error": "\(error)"]
                )
            }
            return .comparisonFailed
        }
    }

    private func register() {
        // The lease begins before the call is sent: Redis may apply it at any time after this.
        let askedNs = SystemClock.bootNs
        registering = project.leaseName
        send(FunctionLibrary.register(project.keys, worker: registering)) { session, result in
            switch result {
            case .success(let value):
                session.registrationFailures.reset()
                let reply = RegisterReply(value)
                session.project.knowsCompactJobs = reply?.allKnowCompactJobs ?? false
                return .registered(newsCursor: reply?.newsCursor ?? "0", askedNs: askedNs)
            case .failure(let error):
                if session.registrationFailures.admits(now: session.project.loop.now) {
                    session.project.logger.error("The worker cannot register.", metadata: ["error": "\(error)"])
                }
                return .registrationFailed
            }
        }
    }
}
