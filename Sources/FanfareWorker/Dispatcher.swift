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
    }

    private let project: ProjectContext
    private let lanes: LanePool
    private let credentials: any CredentialSource
    private let recorder: Recorder
    private let settler: Settler
    private let url: String
    private var batches: [ActiveBatch] = []
    /// Recipients at hand that have not been sent; kept as a sum, because it is asked for with every job.
    private(set) var unsent = 0
    private var flights: [Flight?] = []
    private var freeTags: [Int] = []
    private var wakeAtHoldEnd: TimerID?

    private(set) var inFlight = 0

    /// Called when a batch has nothing left to send.
    var onDemand: () -> Void = {}

    init(
        project: ProjectContext,
        lanes: LanePool,
        credentials: any CredentialSource,
        recorder: Recorder,
        settler: Settler
    ) {
        self.project = project
        self.lanes = lanes
        self.credentials = credentials
        self.recorder = recorder
        self.settler = settler
        url = FCMEndpoint.sendURL(
            origin: project.project.endpoint,
            project: project.project.id,
            transport: project.project.transport,
            credentialProject: credentials.projectID
        )
        lanes.onCompletion = { [weak self] tag, outcome in self?.completed(Int(tag), outcome) }
    }

    var isIdle: Bool { inFlight == 0 && batches.isEmpty }

    func add(_ batch: ActiveBatch) {
        batches.append(batch)
        unsent += batch.unsentCount
        pump()
    }

    /// Gives up what was not sent; what is on the wire is still awaited.
    func dropUnsent() -> [ActiveBatch] {
        defer {
            batches = []
            unsent = 0
        }
        return batches
    }

    // MARK: Sending

    func pump() {
        guard mayBegin() else { return }
        var looked = 0
        var kept: [ActiveBatch] = []
        var hasRoom = true
        while hasRoom, looked < batches.count {
            let batch = batches[looked]
            looked += 1
            let before = batch.unsentCount
            if batch.isFenced {
                unsent -= before
                continue
            }
            if project.blockReason == nil || batch.isProbe { hasRoom = send(from: batch) }
            unsent -= before - batch.unsentCount
            if batch.unsentCount > 0 { kept.append(batch) }
        }
        let hasEnded = kept.count < looked
        batches.replaceSubrange(0..<looked, with: kept)
        if hasEnded { onDemand() }
    }

    /// Whether any send may begin now. What is on the wire goes on whatever this says.
    private func mayBegin() -> Bool {
        guard !batches.isEmpty, !project.isDraining, project.redis.state == .ready, project.leaseHolds else {
            return false
        }
        // Results that Redis has not taken yet are what a crash would lose: past a bound, wait for it.
        guard recorder.uncommitted < 4 * project.configuration.maxInFlight else { return false }
        guard !project.isHeld else {
            wakeWhenHoldEnds()
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
        while inFlight < project.configuration.maxInFlight, lanes.freeSlots > 0 {
            let positions = isMulticast ? batch.takeAll() : batch.next().map { [$0] } ?? []
            guard !positions.isEmpty else { return true }
            let nowMs = project.nowMs
            let due = positions.filter { settler.maySend($0, of: batch, template: template, nowMs: nowMs) }
            if !due.isEmpty { submit(due, of: batch, template: template, nowMs: nowMs) }
            if !isMulticast, let upto = batch.watermarkToRequest(window: project.window) {
                recorder.watermark(upto, of: batch)
            }
        }
        return false
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
            startedMs: nowMs
        )
        if tag == flights.count { flights.append(flight) } else { flights[tag] = flight }
        inFlight += 1
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
        if case .unsent = outcome, !project.isDraining, !batch.isFenced,
            flight.positions.allSatisfy({ batch.sendUnsentAgain($0) })
        {
            unsent += flight.positions.count
            if !batches.contains(where: { $0 === batch }) { batches.append(batch) }
            return
        }
        let verdicts = settler.verdicts(outcome, positions: flight.positions, of: batch)
        for (position, verdict) in zip(flight.positions, verdicts) {
            if case .refreshCredential(let failure) = verdict {
                credentials.refused(flight.credential)
                if project.isDraining || batch.isFenced {
                    settler.giveBack(position, of: batch)
                } else if credentials.canRefresh, batch.sendAgain(position) {
                    unsent += 1
                    if !batches.contains(where: { $0 === batch }) { batches.append(batch) }
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
        guard project.blockReason == nil || batches.contains(where: \.isProbe) else { return }
        for batch in batches {
            if project.blockReason != nil, !batch.isProbe { continue }
            guard let position = batch.takeOneUnsent() else { continue }
            unsent -= 1
            return settler.settle(
                .blockProject(failure),
                position: position,
                of: batch,
                startedMs: project.nowMs
            )
        }
    }

    private func wakeWhenHoldEnds() {
        guard wakeAtHoldEnd == nil else { return }
        wakeAtHoldEnd = project.loop.schedule(afterNanoseconds: project.heldUntil - project.loop.now) { [weak self] in
            self?.wakeAtHoldEnd = nil
            self?.pump()
        }
    }
}
