internal import EventLoop
internal import FCMWire
internal import FanfareCore
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Feeds the sends of a project's batches into its lanes, in order, as far as leave, slots and the project allow.
final class Dispatcher {
    private let project: ProjectContext
    private let router: TransportRouter
    private let credentials: any CredentialSource
    private let recorder: Recorder
    private let settler: Settler
    private let rateLimiter: RecipientRateLimiter
    private let management: ManagementLeave
    private let operations: OperationSettler
    private(set) var queue = SendQueue()
    private var flights = Flights()
    private var wake: TimerID?
    /// From a place that no other process has, or ids of a lost worker would come again; see `XMPPMessageID.nonce`.
    private var messageCount = UInt64.random(in: 0 ... .max)

    var inFlight: Int { flights.count }

    private var lastOverloadAt: UInt64?
    /// How long batches stand behind the others after FCM had no capacity for one of their sends.
    private static let overloadBackoffNs: UInt64 = 5_000_000_000

    /// Called when a batch has nothing left to send.
    var onDemand: () -> Void = {}
    /// Called when sends wait for permits.
    var onStarved: () -> Void = {}

    init(
        project: ProjectContext,
        router: TransportRouter,
        credentials: any CredentialSource,
        recorder: Recorder,
        settler: Settler,
        rateLimiter: RecipientRateLimiter
    ) {
        self.project = project
        self.router = router
        self.credentials = credentials
        self.recorder = recorder
        self.settler = settler
        self.rateLimiter = rateLimiter
        management = ManagementLeave(project: project)
        operations = OperationSettler(project: project, credentials: credentials, settler: settler)
        router.onCompletion = { [weak self] tag, outcome in self?.completed(tag, outcome) }
        router.onRoom = { [weak self] in self?.pump() }
        management.onGranted = { [weak self] in self?.pump() }
    }

    var isIdle: Bool { inFlight == 0 && queue.isEmpty }

    func add(_ batch: ActiveBatch) {
        queue.add(batch)
        pump()
    }

    /// Nothing more of the batch is sent.
    func remove(_ batch: ActiveBatch) {
        queue.remove(batch)
        if let round = batch.round, round.stop() { settler.settle(round) }
    }

    /// Gives up what was not sent; what is on the wire is still awaited.
    func dropUnsent() -> [ActiveBatch] {
        let batches = queue.batches
        for batch in batches { remove(batch) }
        return batches
    }

    // MARK: Sending

    func pump() {
        guard mayBegin() else { return }
        var done = 0
        if let lastOverloadAt, project.loop.now < lastOverloadAt + Self.overloadBackoffNs {
            // A job whose recipients all fail must not be the only one that ever tries how FCM fares.
            let messages = queue.singles + queue.fanouts
            _ = sendAll(messages.filter { !$0.isOverloaded } + messages.filter(\.isOverloaded), done: &done)
        } else if sendAll(queue.singles, done: &done) {
            _ = sendAll(queue.fanouts, done: &done)
        }
        // Management has a rate of its own, and waits for nobody's permits.
        _ = sendAll(queue.managed, done: &done)
        if queue.sweep(done: done) { onDemand() }
    }

    /// Sends of one batch after the other; false when there is no room for more.
    ///
    /// - Parameter done: grows by the batches that have nothing left to send.
    private func sendAll(_ batches: [ActiveBatch], done: inout Int) -> Bool {
        for batch in batches {
            guard !batch.isFenced else {
                queue.remove(batch)
                continue
            }
            // A block holds sends only: operations go to other APIs.
            guard project.blockReason == nil || batch.isProbe || batch.job.isManagement else { continue }
            let hasRoom = send(from: batch)
            queue.recount(batch)
            if batch.unsentCount == 0 {
                done += 1
                if batch.pass == .first, batch.job.isFanout, !batch.saidAllSent {
                    batch.saidAllSent = true
                    recorder.allSent(batch)
                }
            }
            guard hasRoom else { return false }
        }
        return true
    }

    /// Whether any send may begin now. What is on the wire goes on whatever this says.
    private func mayBegin() -> Bool {
        guard !queue.isEmpty, !project.isDraining, project.isReady, project.leaseHolds else {
            return false
        }
        guard project.pauseReason == nil, project.pressure == nil, project.quarantine.admits(project.project.id) else {
            return false
        }
        // Results that Redis has not taken yet are what a crash would lose: past a bound, wait for it.
        guard recorder.uncommitted < 4 * project.configuration.maxInFlight else { return false }
        guard !project.isHeld else {
            wakeUp(at: project.heldUntil)
            return false
        }
        switch credentials.readiness() {
        case .ready: return true
        case .wait: return false
        case .failed(let failure):
            parkOne(failure)
            return false
        }
    }

    /// Sends what it can of one batch; false when there is no room for more.
    private func send(from batch: ActiveBatch) -> Bool {
        if let error = batch.job.abort {
            for position in batch.takeUnsent() { settler.fail(error, position: position, of: batch) }
            return true
        }
        guard case .success(let adapter) = batch.job.adapter else {
            for position in batch.takeUnsent() { settler.failUntranslatable(position: position, of: batch) }
            return true
        }
        let most = adapter.most(batch.job.spec.kind)
        // What shares a request has to be covered as a whole before it begins.
        let window = max(project.window, most)
        if let upto = batch.watermarkToRequest(window: window) { recorder.watermark(upto, of: batch) }
        while batch.unsentCount > 0 {
            guard let room = room(for: batch, adapter: adapter, most: most) else {
                // Too few permits for a multicast may be enough for other batches.
                return adapter.isManagement || (most > 1 && project.permits.available > 0)
            }
            if let round = batch.round, let member = round.next() {
                let position = OneOrMore(round.position)
                send(Flight(batch: batch, positions: position, member: (round, member)), adapter: adapter)
                continue
            }
            let nowMs = project.nowMs
            if most > 1 {
                let positions = batch.takeAll(most: room)
                guard !positions.isEmpty else { return true }
                let due = thoseToSend(positions, of: batch, adapter: adapter, nowMs: nowMs)
                if let due = OneOrMore(all: due) { submit(due, of: batch, adapter: adapter, nowMs: nowMs) }
            } else {
                guard let position = batch.next() else { return true }
                if maySend(position, of: batch, adapter: adapter, nowMs: nowMs) {
                    submit(OneOrMore(position), of: batch, adapter: adapter, nowMs: nowMs)
                }
                if let upto = batch.watermarkToRequest(window: window) { recorder.watermark(upto, of: batch) }
            }
        }
        return true
    }

    /// Recipients that the next request may carry; nil when none can begin now.
    private func room(for batch: ActiveBatch, adapter: ProtocolAdapter, most: Int) -> Int? {
        let limit = adapter.isManagement ? project.configuration.maxInFlight : project.sendLimit.limit
        guard inFlight < min(limit, project.configuration.maxInFlight), router.freeSlots(adapter.route) > 0 else {
            return nil
        }
        if adapter.isManagement {
            let count = min(most, batch.unsentCount)
            return management.take(count, ahead: queue.unsentManaged) ? count : nil
        }
        let count = most > 1 ? batch.requestSize(quotaPerMinute: project.project.quotaPerMinute) : 1
        guard project.permits.available >= count else {
            onStarved()
            return nil
        }
        guard project.sendLimit.mayTake else {
            wakeUp(at: project.sendLimit.nextAt)
            return nil
        }
        return count
    }

    /// Asked before every send. A recipient that may not be sent now gets its result, or its wait, here.
    private func maySend(_ position: Int, of batch: ActiveBatch, adapter: ProtocolAdapter, nowMs: Int64) -> Bool {
        guard settler.maySend(position, of: batch, adapter: adapter, nowMs: nowMs) else { return false }
        return batch.wasLetThrough(position) || follow(rateLimiter.decide(position, of: batch), position, of: batch)
    }

    /// As ``maySend(_:of:carriage:nowMs:)``, of many that are to share a request: those that may be sent now.
    private func thoseToSend(_ positions: [Int], of batch: ActiveBatch, adapter: ProtocolAdapter, nowMs: Int64) -> [Int]
    {
        guard !batch.hasLetThrough else {
            return positions.filter { maySend($0, of: batch, adapter: adapter, nowMs: nowMs) }
        }
        let asked = positions.filter { settler.maySend($0, of: batch, adapter: adapter, nowMs: nowMs) }
        guard let decisions = rateLimiter.decide(asked, of: batch) else { return asked }
        return zip(asked, decisions).filter { follow($1, $0, of: batch) }.map(\.0)
    }

    private func follow(_ decision: RecipientRateLimiter.Decision, _ position: Int, of batch: ActiveBatch) -> Bool {
        switch decision {
        case .go: return true
        case .hold(let untilMs): settler.hold(position, of: batch, untilMs: untilMs)
        case .ask:
            batch.pacing += 1
            rateLimiter.ask(batch.name(of: position), of: batch.job) { [weak self] waitMs in
                self?.paced(position, of: batch, waitMs: waitMs)
            }
        }
        return false
    }

    private func paced(_ position: Int, of batch: ActiveBatch, waitMs: Int64) {
        batch.pacing -= 1
        if waitMs > 0 || project.isDraining || batch.isFenced || batch.isStopping || batch.job.ending != nil {
            settler.hold(position, of: batch, untilMs: project.nowMs + max(0, waitMs))
        } else {
            batch.sendPaced(position)
            add(batch)
        }
    }

    private func submit(_ positions: OneOrMore<Int>, of batch: ActiveBatch, adapter: ProtocolAdapter, nowMs: Int64) {
        if batch.job.spec.kind == .group, !adapter.isManagement,
            let progress = GroupProgress(batch.recipients[positions[0]].value)
        {
            // Its members go out one by one, as permits come.
            let round = GroupRound(position: positions[0], batch: batch, progress: progress, startedMs: nowMs)
            if round.isOver { settler.settle(round) } else { batch.round = round }
        } else {
            send(Flight(batch: batch, positions: positions, member: nil), adapter: adapter)
        }
    }

    private func send(_ flight: Flight, adapter: ProtocolAdapter) {
        var flight = flight
        let batch = flight.batch
        flight.credential = credentials.generation
        flight.startedMs = project.nowMs
        flight.startedAt = project.loop.now
        let first = batch.recipients[flight.positions[0]]
        var messageID = ""
        if adapter.route == .xmpp {
            messageCount &+= 1
            messageID =
                XMPPMessageID(
                    job: batch.job.id,
                    index: first.index,
                    attempt: first.history.attempts,
                    nonce: messageCount
                ).description
        }
        let request = adapter.request(
            flight,
            credentialProject: credentials.projectID ?? project.project.id,
            messageID: messageID,
            nowMs: project.wallMs
        )
        if !adapter.isManagement {
            // Asked for before, so it cannot fail; what a multicast carries counts one by one.
            _ = project.permits.take(flight.positions.count)
            project.sendLimit.take()
            project.sendLimit.sent(isRetry: first.history.attempts > 0)
        }
        batch.inFlight += 1
        if !batch.wasSent { noteWait(batch) }
        batch.wasSent = true
        router.send(
            request,
            tag: flights.add(flight),
            route: adapter.route,
            headers: credentials.headers.lines(for: adapter),
            messageID: messageID
        )
    }

    private func noteWait(_ batch: ActiveBatch) {
        guard batch.pass == .first, batch.job.spec.sinceMs > 0 else { return }
        project.meters.waited(project.wallMs - batch.job.spec.sinceMs, recipients: batch.count)
    }

    // MARK: Answers

    private func completed(_ tag: Int, _ outcome: RequestOutcome) {
        guard let flight = flights.remove(tag) else { return }
        flight.batch.inFlight -= 1
        let batch = flight.batch
        guard case .success(let adapter) = batch.job.adapter else { return }
        // Sent again from here at once: the lanes themselves hold back while their origin cannot be reached.
        if case .unsent = outcome, flight.member == nil, !project.isDraining, !batch.isFenced, !batch.isStopping,
            batch.job.ending == nil,
            batch.sendUnsentAgain(flight.positions)
        {
            return queue.add(batch)
        }
        let verdicts = adapter.verdicts(
            outcome,
            of: flight,
            nowMs: project.wallMs,
            atMostOnce: batch.job.isAtMostOnce
        )
        settler.noteCutBody(outcome, verdicts, of: flight)
        let took = project.loop.now - min(project.loop.now, flight.startedAt)
        project.meters.answered(verdicts, isManagement: adapter.isManagement, afterNs: took)
        if !adapter.isManagement {
            if outcome.isAnswer { project.countAnswer(verdicts) }
            project.sendLimit.answered(verdicts, startedAt: flight.startedAt, inFlight: inFlight + 1)
            batch.isOverloaded = verdicts.others.contains(where: \.verdict.isOverload)
            // A single overload answer does not count; a share of them does.
            if batch.isOverloaded, project.sendLimit.isOverloaded { lastOverloadAt = project.loop.now }
        }
        if let (round, member) = flight.member { return heard(verdicts[0], of: member, round, flight) }
        settler.note(verdicts, of: batch)
        for index in settler.settleSent(verdicts, of: flight) {
            let (position, verdict) = (flight.positions[index], verdicts[index])
            if adapter.isManagement {
                operations.settle(verdict, position: position, of: flight)
            } else if case .refreshCredential(let failure) = verdict {
                credentials.refused(flight.credential)
                if project.isDraining || batch.isFenced {
                    settler.giveBack(position, of: batch)
                } else if batch.job.ending != nil {
                    settler.end(position, of: batch)
                } else if credentials.canRefresh, !batch.isStopping, batch.sendAgain(position) {
                    queue.add(batch)
                } else {
                    settler.settle(.blockProject(failure), position: position, of: batch, startedMs: flight.startedMs)
                }
            } else {
                settler.settle(verdict, position: position, of: batch, startedMs: flight.startedMs)
            }
        }
    }

    private func heard(_ verdict: Verdict, of member: String, _ round: GroupRound, _ flight: Flight) {
        var verdict = verdict
        switch verdict {
        case .refreshCredential(let failure):
            credentials.refused(flight.credential)
            // Refused again with a secret that is newer than the one refused before: no third will do.
            let isNewer = refusedForMember.map { flight.credential > $0 } ?? false
            if isNewer || !credentials.canRefresh { verdict = .blockProject(failure) }
            refusedForMember = flight.credential
        case .sent: refusedForMember = nil
        default: break
        }
        settler.noteMember(verdict, token: member, of: flight.batch)
        if round.heard(verdict, of: member) { settler.settle(round) }
    }

    /// The secret that was last refused for a member of a group.
    private var refusedForMember: Int?

    /// The credential itself is refused: one recipient is parked with the reason, which blocks the project until the
    /// probe; the others wait as they are.
    private func parkOne(_ failure: Failure) {
        // Prefer a send to an operation: the block is about sends.
        let batches = queue.singles + queue.fanouts + queue.managed
        guard project.blockReason == nil || batches.contains(where: \.isProbe) else { return }
        for batch in batches {
            if project.blockReason != nil, !batch.isProbe { continue }
            guard let position = batch.takeOneUnsent() else { continue }
            queue.recount(batch)
            return settler.settle(
                .blockProject(failure),
                position: position,
                of: batch,
                startedMs: project.nowMs
            )
        }
    }

    private func wakeUp(at time: UInt64) {
        guard wake == nil else { return }
        let delay = time > project.loop.now ? time - project.loop.now : 1_000_000
        wake = project.loop.schedule(afterNanoseconds: delay) { [weak self] in
            self?.wake = nil
            self?.pump()
        }
    }
}
