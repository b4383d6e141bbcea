import FCMWire
import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// Random events in random order. ``MachineRig`` checks each send and the books after each event; what becomes of every
/// recipient is counted here.
@Suite struct SendMachineRandomTests {
    @Test(arguments: 0..<60)
    func everyRecipientEndsOnce(seed: Int) {
        var run = RandomRun(seed: UInt64(seed))
        for _ in 0..<400 { run.step() }
        run.end()
    }
}

/// A machine, the claims that it was given, and what Redis was told of each recipient.
private struct RandomRun {
    private var rig: MachineRig
    private var random: SeededGenerator
    private var specs: [String: JobSpec] = [:]
    private var loading: Set<String> = []
    private var nextEpoch = 1
    /// What was written of each recipient by calls that Redis took: the name of a claim is `<job>/<epoch>`.
    private var written: [String: [Int: [String]]] = [:]
    private var sizes: [String: Int] = [:]
    private var closed: Set<String> = []
    /// Results that Redis may forget.
    private var kept = ReplayBuffer()
    private let transport: ProtocolSettings

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        var settings = SendMachine.Settings()
        transport =
            [
                ProtocolSettings(), ProtocolSettings(transport: .legacy, legacyBody: .json, topicAPI: .iid),
                ProtocolSettings(transport: .v1, topicAPI: .v1), ProtocolSettings(transport: .xmpp),
            ][Int(seed % 4)]
        settings.protocols = transport
        settings.window = 3
        settings.flushCount = 4
        settings.maximumInFlight = 8
        settings.canRefreshCredential = seed % 5 != 0
        rig = MachineRig(settings, seed: seed)
        rig.room = [.fcm: 5, .instanceID: 5, .xmpp: 5]
    }

    private mutating func oneIn(_ number: Int) -> Bool { Int.random(in: 0..<number, using: &random) == 0 }
    private mutating func below(_ number: Int) -> Int { Int.random(in: 0..<number, using: &random) }

    // MARK: Events

    mutating func step() {
        switch below(100) {
        case 0..<14: claim()
        case 14..<22: load()
        case 22..<36:
            rig.lend(20)
            rig.send()
        case 36..<56: answer()
        case 56..<70: confirm()
        case 70..<74: rig.advance(milliseconds: Int64(below(400)))
        case 74..<78: if rig.flushAt != nil { rig.flushNow() }
        case 78..<80: if rig.wakeAt != nil { rig.wake() }
        case 80..<84:
            if !rig.checks.isEmpty { rig.answerRate(below(rig.checks.count), waitMs: Int64(below(3) * 1_000)) }
        case 84..<88: news()
        case 88..<92: gate()
        case 92..<94: rig.handle(.managementGranted(below(5)))
        case 94..<95: forget()
        case 95..<96: rig.handle(oneIn(4) ? .redisLost : .quarantineBegan(oneIn(2) ? .shared : .exclusive))
        case 96..<97: if oneIn(4) { rig.handle(.leaseLost) } else { rig.lend(20) }
        case 97..<98: if oneIn(3) { rig.handle(.giveUp) }
        case 98..<99: if oneIn(3) { for flush in kept.removeAll() { rig.handle(.replay(flush)) } }
        default: rig.lend(20)
        }
    }

    private mutating func claim() {
        let job = "j\(below(6))"
        let spec = specs[job] ?? makeSpec()
        specs[job] = spec
        let isGroup = spec.kind == .group
        let count = isGroup || spec.operation.isGroupOperation ? 1 : 1 + below(7)
        let names = (0..<count).map { _ in isGroup ? "key" : "t\(below(9))" }
        let epoch = nextEpoch
        nextEpoch += 1
        let isRetry = oneIn(3)
        let deliveries = oneIn(4) ? 2 : 1
        let pick = (0..<count).map { _ in below(4) }
        let watermark = isRetry ? count : below(count + 1)
        let isProbe = rig.machine.gate.blockReason != nil && oneIn(2)
        let isQuarantined = oneIn(25)
        let ending = oneIn(20) ? "cancelled" : nil
        let past = rig.now.projectMs - Int64(below(200)) * 1_000
        let batch = isRetry ? "r\(epoch)" : "\(epoch)"
        let claim = Claim.named(names, job, batch: batch, epoch: epoch, watermark: watermark) { claim in
            claim.pass = isRetry ? .retry : .first
            claim.deliveries = deliveries
            claim.isProbe = isProbe
            claim.isQuarantined = isQuarantined
            claim.ending = ending
            for position in claim.recipients.indices {
                if isRetry {
                    claim.recipients[position].history = RecipientHistory(
                        attempts: pick[position],
                        firstAttemptMs: past,
                        refusals: pick[position] == 3 ? 2 : pick[position] / 2
                    )
                }
                guard deliveries > 1, pick[position] < 2 else { continue }
                claim.recipients[position].progress = pick[position] == 0 ? .settled : .maybeSent
            }
            if isGroup, isRetry, pick[0] > 0 {
                let progress = GroupProgress(key: "key", messageID: "m", pending: ["m0", "m1", "m2"])
                claim.recipients[0].text = SharedText(progress.text)
            }
        }
        sizes["\(job)/\(epoch)"] = claim.recipients.count { $0.progress != .settled }
        if oneIn(8), !isQuarantined, !isRetry, !isProbe,
            let adapter = try? ProtocolAdapter(spec, job: job, settings: transport)
        {
            rig.handle(.permitsLent(count, askedNs: rig.now.monotonicNs))
            rig.handle(.batchTaken(claim, SendJob(id: job, spec: spec, settings: transport, adapter: adapter)))
        } else {
            rig.claim(claim, permits: below(12))
        }
        noteLoads()
    }

    private mutating func makeSpec() -> JobSpec {
        switch below(8) {
        case 0: .operation(.subscribe, total: 5)
        case 1: .operation(.groupAdd)
        case 2, 3: .group()
        case 4: .message(total: 5_000)
        case 5: .message(total: 3, ttl: "100s")
        case 6: .message(total: 3) { $0.delivery = .atMostOnce }
        default: .message(total: 3, ttl: "0s") { $0.results = .failures }
        }
    }

    private mutating func noteLoads() {
        for name in rig.takeNamed() where name.hasPrefix("loadSpec ") { loading.insert(String(name.dropFirst(9))) }
    }

    private mutating func load() {
        guard let job = loading.sorted().randomElement(using: &random), let spec = specs[job] else { return }
        switch below(12) {
        case 0:
            loading.remove(job)
            rig.handle(.specMissing(job: job))
        case 1: rig.handle(.specUnreadable(job: job))
        case 2: rig.handle(.giveUpJob(job))
        default:
            loading.remove(job)
            rig.handle(.specLoaded(job: job, spec))
        }
    }

    private mutating func answer() {
        guard !rig.requests.isEmpty else { return }
        let at = below(rig.requests.count)
        let outcome: RequestOutcome
        let sent = rig.accepted(rig.requests[at].tag)
        switch below(16) {
        case 0: outcome = .unsent
        case 1: outcome = .unanswered
        case 2: outcome = .overloaded
        case 3: outcome = .dead
        case 4: outcome = oneIn(3) ? .refusedToken : sent
        case 5: outcome = oneIn(3) ? .forbidden : sent
        case 6: outcome = oneIn(3) ? .overQuota : sent
        case 7: outcome = .wrongMessage
        case 8: outcome = .status(429)
        case 9: outcome = .refused(reason: "GOAWAY")
        case 10: outcome = .status(200, #"{"success":1,"failure":0,"results":[{"message_id":"1"}]}"#)
        default: outcome = sent
        }
        rig.answer(outcome, at: at)
    }

    private mutating func confirm() {
        guard !rig.flushes.isEmpty else { return }
        // As Redis answers, with a few that come late.
        let at = oneIn(4) ? below(rig.flushes.count) : 0
        let flush = rig.flushes[at]
        let isClosed = closed.contains("\(flush.source.job)/\(flush.source.epoch)")
        if isClosed, !flush.call.late {
            // Only what counts no recipient may be written with, or after, the closing flush.
            #expect(flush.count == 0)
            return confirm(at, .stale)
        }
        confirm(at, flush.call.late || !oneIn(40) ? .ok() : oneIn(2) ? .stale : .gone)
    }

    private mutating func confirm(_ at: Int, _ reply: RecordReply) {
        let flush = rig.confirm(at, reply)
        guard case .ok = reply else { return }
        let claim = "\(flush.source.job)/\(flush.source.epoch)"
        for (index, fate) in flush.call.fates where !flush.call.late || written[claim]?[index] == nil {
            written[claim, default: [:]][index, default: []].append(fate)
        }
        if flush.call.finish { closed.insert(claim) }
        kept.append(flush, now: rig.now.monotonicNs)
    }

    private mutating func news() {
        let job = "j\(below(6))"
        let all: [News] = [
            .stop(job: job, epoch: Int64(below(nextEpoch))), .end(job: job, status: "cancelled"),
            .rate(recipient: "token:t\(below(9))", untilMs: rig.now.projectMs + Int64(below(2_000))),
        ]
        let news = all[oneIn(12) ? 1 : below(2) * 2]
        rig.handle(.claimReplied(.empty { $0.news = [news] }, askedNs: rig.now.monotonicNs))
    }

    private mutating func gate() {
        let failure = Failure(error: .unspecified, action: .fixCredentials, rawError: "denied", httpStatus: 401)
        switch below(12) {
        case 0: rig.machine.gate.resources.credential = .failed(failure)
        case 1: rig.machine.gate.resources.credential = .pending
        case 2: rig.machine.gate.isReady = oneIn(2)
        case 3: rig.handle(.claimReplied(.empty { $0.pauseReason = "why" }, askedNs: rig.now.monotonicNs))
        case 4:
            let isBlocked = oneIn(2)
            rig.handle(
                .claimReplied(
                    .empty {
                        $0.probeMs = isBlocked ? 1_000 : 0
                        $0.blockReason = isBlocked ? "why" : ""
                        $0.isProbe = isBlocked && oneIn(2)
                        $0.doubted = oneIn(2) ? [ByteHash.of("token:t0")] : []
                    },
                    askedNs: rig.now.monotonicNs
                )
            )
        case 5: rig.handle(.claimReplied(.empty { $0.holdMs = 500 }, askedNs: rig.now.monotonicNs))
        default:
            rig.machine.gate.resources.credential = .ready
            rig.machine.gate.resources.credentialGeneration += 1
            rig.machine.gate.isReady = true
            rig.lend(20)
        }
    }

    private mutating func forget() {
        let slots = rig.machine.batches.slots { _ in true }
        guard let slot = slots.randomElement(using: &random), let batch = rig.machine.batch(slot) else { return }
        rig.handle(.forgotten([batch.name]))
    }

    // MARK: The end

    /// The worker drains, FCM answers what is in flight, and Redis takes everything.
    mutating func end() {
        rig.handle(.drain)
        while !rig.requests.isEmpty || !rig.checks.isEmpty || !rig.flushes.isEmpty || rig.flushAt != nil {
            while !rig.requests.isEmpty { rig.answer(rig.accepted(rig.requests[0].tag)) }
            while !rig.checks.isEmpty { rig.answerRate(waitMs: 0) }
            while !rig.flushes.isEmpty { confirm() }
            if rig.flushAt != nil { rig.flushNow() }
        }
        rig.expectEmpty()
        #expect(!closed.isEmpty && closed.count < sizes.count, "some are closed, some go back or are lost")
        for (claim, indexes) in written {
            for (index, fates) in indexes { #expect(fates.count == 1, "\(claim) \(index): \(fates)") }
        }
        for claim in closed {
            #expect(written[claim]?.count ?? 0 == sizes[claim], "a closed batch accounts for every recipient: \(claim)")
        }
    }
}
