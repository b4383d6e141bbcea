import FCMWire
import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// A ``SendMachine`` in virtual time. It collects what the machine asks for, and checks what must hold after every event.
struct MachineRig {
    /// Claims whose recipients Redis gave to this worker.
    struct Release: Equatable {
        var batch: String
        var epoch: String
        var watermark: Int?
    }

    var machine: SendMachine
    var now = Instant(monotonicNs: 1_000_000_000_000, projectMs: 1_700_000_000_000)
    var room: SendMachine.Room = [.fcm: 10_000, .instanceID: 10_000, .xmpp: 10_000]

    /// Actions that are not answered yet, in their order.
    private(set) var requests: [(tag: Int, request: WireRequest)] = []
    private(set) var flushes: [Flush] = []
    private(set) var checks: [RateCheck] = []
    /// What came since the beginning.
    private(set) var releases: [Release] = []
    private(set) var outcomes: [BatchOutcome] = []
    private(set) var meters: [SendMeter] = []
    private(set) var logs: [String] = []
    private(set) var lastLog: SendLog?
    /// The other actions, by their names.
    private(set) var named: [String] = []
    private(set) var flushAt: UInt64?
    private(set) var wakeAt: UInt64?

    init(_ settings: SendMachine.Settings = .init(), seed: UInt64 = 1) {
        machine = SendMachine(settings, seed: seed, messageNonce: 0)
        machine.gate.isReady = true
        machine.gate.newsCame(askedNs: now.monotonicNs)
    }

    // MARK: Events

    mutating func handle(_ event: SendEvent) {
        var actions: [SendAction] = []
        machine.handle(event, now: now, into: &actions)
        for action in actions { perform(action) }
        check()
    }

    /// Begins what may begin. Nothing may go out while the gate is closed, or above a confirmed watermark.
    mutating func send() {
        var actions: [SendAction] = []
        let reason = machine.gate.reason(for: .sending, now: now.monotonicNs)
        let wasBlocked = machine.gate.blockReason != nil
        // A probe whose token was refused is repeated.
        let mayProbe = machine.gate.mayProbe || machine.batches.slots { $0.awaitsTokenForProbe }.count == 1
        var probes = 0
        machine.send(within: room, now: now, into: &actions)
        for action in actions {
            if case .send(let tag, _) = action {
                #expect(reason == nil, "nothing begins while the gate is closed")
                if checkSend(tag, wasBlocked: wasBlocked) { probes += 1 }
            }
            perform(action)
        }
        #expect(probes <= (mayProbe ? 1 : 0), "one recipient is the probe of a blocked project")
        check()
    }

    /// - Parameter hearsNews: whether Redis answers the worker's questions for news meanwhile.
    mutating func advance(milliseconds: Int64, hearsNews: Bool = true) {
        now.monotonicNs += UInt64(milliseconds) * 1_000_000
        now.projectMs += milliseconds
        if hearsNews { machine.gate.newsCame(askedNs: now.monotonicNs) }
    }

    /// Lends permits that are good now.
    mutating func lend(_ count: Int) { handle(.claimReplied(.empty(permits: count), askedNs: now.monotonicNs)) }

    /// A claim is answered with batches and permits.
    mutating func claim(_ claims: Claim..., permits: Int = 0) {
        handle(.claimReplied(.empty(permits: permits, claims: claims), askedNs: now.monotonicNs))
    }

    /// A batch is claimed, its job's spec is loaded, and all permits are there that it needs.
    @discardableResult
    mutating func hold(_ claim: Claim, _ spec: JobSpec) -> Int {
        self.claim(claim, permits: 1_000)
        handle(.specLoaded(job: claim.job, spec))
        return machine.batches.slots { $0.source.epoch == claim.epoch && $0.source.job == claim.job }.first ?? -1
    }

    /// Answers a request.
    mutating func answer(_ outcome: RequestOutcome, at request: Int = 0) {
        handle(.completed(tag: requests.remove(at: request).tag, outcome))
    }

    /// Redis answers a flush.
    @discardableResult
    mutating func confirm(_ flush: Int = 0, _ reply: RecordReply = .ok()) -> Flush {
        let flush = flushes.remove(at: flush)
        handle(.flushed(flush, reply))
        return flush
    }

    mutating func answerRate(_ check: Int = 0, waitMs: Int64) {
        handle(.rateChecked(checks.remove(at: check), waitMs: waitMs))
    }

    mutating func flushNow() {
        flushAt = nil
        handle(.timer(.flush))
    }

    mutating func wake() {
        wakeAt = nil
        handle(.timer(.wake))
    }

    /// Everything is written and confirmed.
    mutating func confirmAll() {
        repeat {
            flushNow()
            while !flushes.isEmpty { confirm() }
        } while flushAt != nil
    }

    // MARK: What was asked for

    private mutating func perform(_ action: SendAction) {
        switch action {
        case .send(let tag, let request): requests.append((tag, request))
        case .flush(let flush): flushes.append(flush)
        case .checkRate(let check): checks.append(check)
        case .release(let batch, let epoch, let watermark):
            releases.append(Release(batch: batch, epoch: epoch, watermark: watermark))
        case .batchEnded(_, let outcome): outcomes.append(outcome)
        case .meter(let meter): meters.append(meter)
        case .log(let log):
            logs.append("\(log.message)")
            lastLog = log
        case .arm(.flush, let time):
            #expect(flushAt == nil, "a timer is armed once")
            flushAt = time
        case .arm(.wake, let time):
            #expect(wakeAt == nil, "a timer is armed once")
            wakeAt = time
        case .loadSpec(let job): named.append("loadSpec \(job)")
        case .giveUpJobLater(let job): named.append("giveUpJobLater \(job)")
        case .enterQuarantine(let mode): named.append("enterQuarantine \(mode)")
        case .leaveQuarantine: named.append("leaveQuarantine")
        case .requestManagement(let count): named.append("requestManagement \(count)")
        case .claim: named.append("claim")
        case .claimPermits: named.append("claimPermits")
        case .refuseCredential(let generation): named.append("refuseCredential \(generation)")
        case .renewCredential(let generation): named.append("renewCredential \(generation)")
        case .retryCredential: named.append("retryCredential")
        case .batchBegan: named.append("batchBegan")
        }
    }

    /// Takes what was named so far.
    mutating func takeNamed() -> [String] {
        defer { named = [] }
        return named
    }

    /// The recipients of the requests in flight, by their positions.
    var positions: [[Int]] { requests.map { machine.request($0.tag).map { Array($0.positions) } ?? [] } }

    func state(_ slot: Int) -> BatchState? { machine.batch(slot)?.state }

    // MARK: What must hold

    /// - Returns: whether it is a probe from among the recipients at hand.
    private func checkSend(_ tag: Int, wasBlocked: Bool) -> Bool {
        guard let flight = machine.request(tag), let batch = machine.batch(flight.slot) else {
            Issue.record("a request that is handed on is in flight, and of a batch")
            return false
        }
        #expect(batch.state == .sending)
        for position in flight.positions {
            let last = batch.unsent.sharing(position).last ?? position
            #expect(last < batch.unsent.watermark.confirmed, "nothing is sent above the confirmed watermark")
            #expect(batch.recipients[position].progress == .unsent, "nothing is sent that has its result")
        }
        return wasBlocked && !batch.isProbe && !batch.source.isManagement
    }

    private func check() {
        let pending = machine.batches.slots { _ in true }.map { slot in
            machine.batches.held[slot].pending.uncommitted
        }
        #expect(machine.gate.uncommitted == pending.reduce(0, +) + flushes.reduce(0) { $0 + $1.uncommitted })
        let queued = machine.queue.slots
        #expect(Set(queued).count == queued.count, "a batch stands in the queue once")
        for slot in queued {
            guard let batch = machine.batch(slot) else {
                Issue.record("the queue holds a batch that is gone")
                continue
            }
            #expect(batch.isQueued && batch.state == .sending)
        }
        let isDirty = machine.batches.slots { $0.isDirty }
        #expect(isDirty.isEmpty || flushAt != nil, "what waits to be written has its timer")
        #expect(isDirty.allSatisfy(machine.flushes.contains))
    }

    /// Nothing is left of anything: not a batch, a job, a request, or an uncommitted result.
    func expectEmpty(_ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(machine.isEmpty && machine.isIdle, comment, sourceLocation: sourceLocation)
        #expect(machine.batches.slots { _ in true }.isEmpty, comment, sourceLocation: sourceLocation)
        #expect(machine.batches.isEmpty, comment, sourceLocation: sourceLocation)
        #expect(machine.queue.unsent == 0 && machine.queue.managed.unsent == 0, comment, sourceLocation: sourceLocation)
        #expect(machine.gate.uncommitted == 0, comment, sourceLocation: sourceLocation)
        #expect(requests.isEmpty && flushes.isEmpty && checks.isEmpty, comment, sourceLocation: sourceLocation)
    }
}

extension MachineRig {
    /// FCM's answer that it took a message for every recipient of a request, in the words of the request's protocol.
    func accepted(_ tag: Int) -> RequestOutcome {
        guard let flight = machine.request(tag), let adapter = machine.job(of: flight.slot)?.adapter else {
            return .sent()
        }
        switch adapter.choice {
        case .v1, .personal: return .sent()
        case .multicast where flight.positions.count == 1 && machine.job(of: flight.slot)?.spec.kind != .token:
            return .status(200, #"{"message_id":1,"success":1,"failure":0}"#)
        case .multicast:
            let results = flight.positions.map { #"{"message_id":"m\#($0)"}"# }.joined(separator: ",")
            return .status(200, #"{"success":\#(flight.positions.count),"failure":0,"results":[\#(results)]}"#)
        case .topicBatch:
            let results = flight.positions.map { _ in "{}" }.joined(separator: ",")
            return .status(200, #"{"results":[\#(results)]}"#)
        case .plainText, .topicSubscription, .topicList, .other: return .status(200)
        case .group: return .status(200, #"{"notification_key":"key"}"#)
        case .xmpp: return .stanza(Array(#"{"from":"t0","message_id":"m","message_type":"ack"}"#.utf8))
        }
    }

    /// The rig after it has heard news.
    func hearing(_ news: News) -> MachineRig {
        var rig = self
        rig.handle(.claimReplied(.empty { $0.news = [news] }, askedNs: now.monotonicNs))
        return rig
    }

    /// Writes and confirms everything.
    ///
    /// - Returns: what the holders of batches wrote, and the facts of the lost batches: `0s 1r`, see
    ///   ``RecordCall/fates``.
    mutating func writeAll() -> (written: String, late: String) {
        var calls: [RecordCall] = []
        repeat {
            flushNow()
            while !flushes.isEmpty { calls.append(confirm().call) }
        } while flushAt != nil
        func text(_ calls: [RecordCall]) -> String {
            calls.flatMap { $0.fates.map { "\($0.key)\($0.value)" } }.sorted().joined(separator: " ")
        }
        return (text(calls.filter { !$0.late }), text(calls.filter(\.late)))
    }
}

extension Flush {
    /// Its results and retries.
    var count: Int { call.results.count + call.retries.count }
}
