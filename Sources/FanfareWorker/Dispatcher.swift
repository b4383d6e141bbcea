internal import CurlTransport
internal import EventLoop
internal import FCMWire
internal import FanfareModel
internal import RedisTransport
internal import StreamWire

/// Feeds the sends of a project's batches into its lanes, in order, as far as leave, slots and the project allow.
final class Dispatcher {
    private struct Flight {
        let batch: ActiveBatch
        let positions: [Int]
        let credential: Int
        let startedMs: Int64
        let startedAt: UInt64
    }

    private let project: ProjectContext
    private let lanes: LanePool
    private let credentials: any CredentialSource
    private let recorder: Recorder
    private let settler: Settler
    private let pacer: Pacer
    private let url: String
    private(set) var queue = SendQueue()
    private var flights: [Flight?] = []
    private var freeTags: [Int] = []
    private var wake: TimerID?

    private(set) var inFlight = 0

    private var lastTrouble: UInt64?
    /// How long batches stand behind the others after FCM had no capacity for one of their sends.
    private static let troubleNs: UInt64 = 5_000_000_000

    /// Called when a batch has nothing left to send.
    var onDemand: () -> Void = {}
    /// Called when sends wait for permits.
    var onStarved: () -> Void = {}

    init(
        project: ProjectContext,
        lanes: LanePool,
        credentials: any CredentialSource,
        recorder: Recorder,
        settler: Settler,
        pacer: Pacer
    ) {
        self.project = project
        self.lanes = lanes
        self.credentials = credentials
        self.recorder = recorder
        self.settler = settler
        self.pacer = pacer
        url = FCMEndpoint.sendURL(
            origin: project.project.endpoint,
            project: project.project.id,
            transport: project.project.transport,
            credentialProject: credentials.projectID
        )
        lanes.onCompletion = { [weak self] tag, outcome in self?.completed(Int(tag), outcome) }
    }

    var isIdle: Bool { inFlight == 0 && queue.isEmpty }

    func add(_ batch: ActiveBatch) {
        queue.add(batch)
        pump()
    }

    /// Nothing more of the batch is sent.
    func remove(_ batch: ActiveBatch) { queue.remove(batch) }

    /// Gives up what was not sent; what is on the wire is still awaited.
    func dropUnsent() -> [ActiveBatch] {
        let batches = queue.batches
        for batch in batches { queue.remove(batch) }
        return batches
    }

    // MARK: Sending

    func pump() {
        guard mayBegin() else { return }
        var done = 0
        if let lastTrouble, project.loop.now < lastTrouble + Self.troubleNs {
            // A job whose recipients all fail must not be the only one that ever tries how FCM fares.
            let ordered = queue.batches.filter { !$0.isTroubled } + queue.batches.filter(\.isTroubled)
            _ = sendAll(ordered, done: &done)
        } else if sendAll(queue.singles, done: &done) {
            _ = sendAll(queue.fanouts, done: &done)
        }
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
            guard project.blockReason == nil || batch.isProbe else { continue }
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
        guard project.pauseReason == nil, project.pressure == nil, project.isolation.admits(project.project.id) else {
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
        guard case .success(let template) = batch.job.template else {
            for position in batch.takeUnsent() { settler.failUntranslatable(position: position, of: batch) }
            return true
        }
        if let upto = batch.watermarkToRequest(window: project.window) { recorder.watermark(upto, of: batch) }
        let isMulticast = project.project.transport == .legacy && batch.job.spec.kind == .token
        while batch.unsentCount > 0 {
            guard inFlight < min(project.regulator.limit, project.configuration.maxInFlight), lanes.freeSlots > 0 else {
                return false
            }
            let permits = project.permits.available
            guard permits > 0 else {
                onStarved()
                return false
            }
            guard project.regulator.mayTake else {
                wakeUp(at: project.regulator.nextAt)
                return false
            }
            let positions = isMulticast ? batch.takeAll(most: permits) : batch.next().map { [$0] } ?? []
            guard !positions.isEmpty else { return true }
            let nowMs = project.nowMs
            let due = positions.filter { maySend($0, of: batch, template: template, nowMs: nowMs) }
            if !due.isEmpty { submit(due, of: batch, template: template, nowMs: nowMs) }
            if !isMulticast, let upto = batch.watermarkToRequest(window: project.window) {
                recorder.watermark(upto, of: batch)
            }
        }
        return true
    }

    /// Asked before every send. A recipient that may not be sent now gets its result, or its wait, here.
    private func maySend(_ position: Int, of batch: ActiveBatch, template: RequestTemplate, nowMs: Int64) -> Bool {
        guard settler.maySend(position, of: batch, template: template, nowMs: nowMs) else { return false }
        guard !batch.wasLetThrough(position) else { return true }
        let recipient = batch.recipients[position].value
        switch pacer.decide(recipient, of: batch.job) {
        case .go: return true
        case .hold(let untilMs): settler.hold(position, of: batch, untilMs: untilMs)
        case .ask:
            batch.pacing += 1
            pacer.ask(recipient, of: batch.job) { [weak self] waitMs in
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

    private func submit(_ positions: [Int], of batch: ActiveBatch, template: RequestTemplate, nowMs: Int64) {
        var body: [UInt8] = []
        if positions.count > 1 {
            template.renderMulticast(positions.map { batch.recipients[$0].value }, nowMs: nowMs, into: &body)
        } else {
            let recipient = batch.recipients[positions[0]].value
            template.render(kind: batch.job.spec.kind, recipient: recipient, nowMs: nowMs, into: &body)
        }
        let tag = freeTags.popLast() ?? flights.count
        let flight = Flight(
            batch: batch,
            positions: positions,
            credential: credentials.generation,
            startedMs: nowMs,
            startedAt: project.loop.now
        )
        if tag == flights.count { flights.append(flight) } else { flights[tag] = flight }
        inFlight += 1
        // Asked for before, so it cannot fail; what a multicast carries counts one by one.
        _ = project.permits.take(positions.count)
        project.regulator.take()
        project.regulator.sent(isRetry: batch.recipients[positions[0]].history.attempts > 0)
        batch.inFlight += 1
        batch.wasSent = true
        lanes.send(
            HTTPRequest(
                tag: UInt64(tag),
                method: .post,
                url: url,
                headers: credentials.headers,
                body: body,
                timeoutMs: project.configuration.requestTimeoutMs
            )
        )
    }

    // MARK: Answers

    private func completed(_ tag: Int, _ outcome: RequestOutcome) {
        guard tag < flights.count, let flight = flights[tag] else { return }
        flights[tag] = nil
        freeTags.append(tag)
        inFlight -= 1
        flight.batch.inFlight -= 1
        let batch = flight.batch
        // Sent again from here at once: the lanes themselves hold back while their origin cannot be reached.
        if case .unsent = outcome, !project.isDraining, !batch.isFenced, !batch.isStopping, batch.job.ending == nil,
            flight.positions.allSatisfy({ batch.sendUnsentAgain($0) })
        {
            return queue.add(batch)
        }
        let verdicts = settler.verdicts(outcome, positions: flight.positions, of: batch)
        let isTroubled = verdicts.contains(where: \.isOverload)
        if isTroubled { lastTrouble = project.loop.now }
        batch.isTroubled = isTroubled
        project.regulator.answered(verdicts, startedAt: flight.startedAt, inFlight: inFlight + 1)
        for (position, verdict) in zip(flight.positions, verdicts) {
            if case .refreshCredential(let failure) = verdict {
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

    /// The credential itself is refused: one recipient is parked with the reason, which blocks the project until the
    /// probe; the others wait as they are.
    private func parkOne(_ failure: Failure) {
        let batches = queue.batches
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
