import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// (refusal, what is known of the recipient and the project) → what becomes of the recipient, the others and the project.
@Suite struct SendMachineRefusalTests {
    private static let refusals = [RequestOutcome.forbidden, .status(404, notFound), .refusedToken]
    private static let notFound = #"{"error":{"code":404,"message":"m","status":"NOT_FOUND"}}"#

    /// A batch in flight, of a project with this credential.
    private func sending(_ claim: Claim, _ spec: JobSpec = .message(total: 5), fingerprint: UInt64 = 7) -> MachineRig {
        var settings = SendMachine.Settings()
        settings.canRefreshCredential = false
        return MachineRig.sending(claim, spec, settings, fingerprint: fingerprint)
    }

    // MARK: One recipient

    @Test(arguments: refusals)
    func refusedRecipientWaitsAMinuteAndTheOthersAreSent(refusal: RequestOutcome) throws {
        var rig = sending(.of(count: 3), .message(total: 3))
        rig.answer(refusal)
        #expect(rig.machine.gate.blockReason == nil && !rig.machine.gate.doubted.isEmpty)
        rig.answer(.unsent)
        rig.send()
        #expect(rig.positions == [[2], [1]], "the others continue")
        rig.flushNow()
        let call = rig.confirm().call
        let retry = try #require(call.retries.first)
        #expect(retry.dueMs >= rig.now.projectMs + 60_000 && !retry.parked)
        #expect(retry.packed.hasPrefix("1|0\(rig.now.projectMs)|0|"), "an attempt and a refusal are counted")
        #expect(call.refused.count == 1 && call.refusedCredential == 7 && call.refusal.hasPrefix("HTTP 40"))
    }

    struct Known: CustomTestStringConvertible, Sendable {
        var refusals: Int
        var isDoubted: Bool
        var fate: String
        var isEvidence: Bool
        var testDescription: String { "\(refusals) refusals, \(isDoubted ? "none" : "one") accepted since" }
    }

    static let known = [
        Known(refusals: 0, isDoubted: false, fate: "r1", isEvidence: true),
        Known(refusals: 0, isDoubted: true, fate: "r1", isEvidence: true),
        Known(refusals: 1, isDoubted: true, fate: "r1", isEvidence: true),
        Known(refusals: 2, isDoubted: true, fate: "r1", isEvidence: true),
        Known(refusals: 1, isDoubted: false, fate: "r2", isEvidence: false),
        Known(refusals: 2, isDoubted: false, fate: "f", isEvidence: false),
    ]

    /// A recipient that is refused again after an accepted send is refused on its own account.
    @Test(arguments: known)
    func refusedRecipientIsTriedTwiceMoreAfterAnAcceptedSend(row: Known) throws {
        var rig = MachineRig()
        let doubted: Set<UInt64> = row.isDoubted ? [ByteHash.of("token:t0")] : [ByteHash.of("token:another")]
        rig.handle(.claimReplied(.empty { $0.doubted = doubted }, askedNs: rig.now.monotonicNs))
        let claim = Claim.of {
            $0.pass = .retry
            $0.recipients[0].history = RecipientHistory(
                attempts: 1,
                firstAttemptMs: rig.now.projectMs - 90_000,
                refusals: row.refusals
            )
        }
        rig.handle(
            .claimReplied(
                .empty(permits: 9, claims: [claim]) { $0.doubted = doubted },
                askedNs: rig.now.monotonicNs
            )
        )
        rig.handle(.specLoaded(job: "j", .message()))
        rig.send()
        rig.answer(.forbidden)
        let call = rig.confirm().call
        let history = call.retries.first.flatMap { RecipientHistory.parse($0.packed)?.0 }
        #expect("\(call.fates[0] ?? "")\(history.map { "\($0.refusals)" } ?? "")" == row.fate)
        #expect(call.refused.isEmpty != row.isEvidence && !call.refusal.isEmpty)
        if row.fate == "f" {
            #expect(call.objects.contains(#""error":"UNSPECIFIED_ERROR""#) && call.objects.contains("fix_credentials"))
        }
        rig.expectEmpty()
    }

    @Test func refusedRecipientEndsWithItsLifetime() {
        for (ttl, fate, waitsMs) in [("30s", "r", 30_000), ("0s", "x", nil), ("600s", "r", 60_000)] as [(_, _, Int64?)]
        {
            var rig = sending(.of(), .message(ttl: ttl))
            rig.answer(.forbidden)
            let call = rig.confirm().call
            #expect(call.fates == [0: fate] && call.refused.count == 1, "a lapsed recipient is evidence, too")
            guard let waitsMs, let retry = call.retries.first else { continue }
            let (least, most) = (rig.now.projectMs + waitsMs, rig.now.projectMs + waitsMs * 5 / 4)
            #expect(retry.dueMs >= least && retry.dueMs <= (waitsMs == 30_000 ? least : most))
        }
    }

    @Test func refusalBeforeAnAcceptedSendIsNoEvidence() {
        var rig = sending(.of(count: 4), .message(total: 4))
        rig.answer(.forbidden)
        rig.answer(.sent())
        rig.answer(.forbidden)
        rig.answer(.forbidden)
        let call = rig.confirm().call
        #expect(call.projectAnswers && call.refused.count == 2 && Set(call.refused).count == 2)
    }

    /// The answer to a multicast is one, however many recipients it names.
    @Test func refusedMulticastIsEvidenceOnce() {
        var settings = SendMachine.Settings()
        settings.protocols.transport = .legacy
        settings.canRefreshCredential = false
        var rig = MachineRig.sending(.of(count: 10), .message(total: 10) { $0.format = .legacy }, settings)
        #expect(rig.requests.count == 1)
        rig.answer(.refusedToken)
        let call = rig.confirm().call
        #expect(call.retries.count == 10 && call.refused.count == 1)
        rig.expectEmpty()
    }

    /// Each is judged by its own answer: no other fails with the one that FCM refuses.
    @Test func recipientsOfARefusedMulticastAreSentOneByOne() {
        var settings = SendMachine.Settings()
        settings.protocols.transport = .legacy
        settings.canRefreshCredential = false
        var rig = MachineRig(settings)
        let claim = Claim.of(count: 5) {
            $0.pass = .retry
            for position in 0..<5 {
                $0.recipients[position].history = RecipientHistory(
                    attempts: 1,
                    firstAttemptMs: rig.now.projectMs - 70_000,
                    refusals: 1
                )
            }
        }
        rig.hold(claim, .message(total: 5) { $0.format = .legacy })
        rig.send()
        #expect(rig.positions == [[0], [1], [2], [3], [4]])
    }

    @Test func acceptedCredentialIsReportedOnce() {
        var rig = sending(.of(count: 2), .message(total: 2))
        rig.answer(.sent())
        rig.flushNow()
        #expect(rig.confirm().call.acceptedCredential == 7)
        rig.answer(.sent())
        #expect(rig.confirm().call.acceptedCredential == nil)
        rig.machine.gate.resources.credentialFingerprint = 8
        rig.hold(.of(epoch: 2), .message(total: 2))
        rig.send()
        rig.answer(.sent())
        #expect(rig.confirm().call.acceptedCredential == 8)
    }

    // MARK: A blocked project

    @Test func blockedProjectSendsOneRecipientAtHandAsItsProbe() {
        var rig = MachineRig()
        rig.hold(.of(count: 3), .message(total: 3))
        rig.handle(.claimReplied(ClaimReply.blocked(), askedNs: rig.now.monotonicNs))
        rig.send()
        #expect(rig.requests.isEmpty && rig.logs.count { $0.contains("cannot send") } == 1)
        rig.handle(.claimReplied(ClaimReply.blocked(probe: true), askedNs: rig.now.monotonicNs))
        #expect(rig.takeNamed().contains("retryCredential"))
        for _ in 0..<2 {
            rig.send()
            #expect(rig.requests.count == 1)
        }
        rig.answer(.sent())
        rig.send()
        #expect(rig.requests.isEmpty)
        rig.flushNow()
        #expect(rig.confirm().call.projectAnswers)
        rig.handle(.claimReplied(.empty(permits: 5), askedNs: rig.now.monotonicNs + 1))
        rig.send()
        #expect(rig.requests.count == 2, "an accepted send ends the block at once")
    }

    /// Among many refused recipients blocks come and go. The log says so once a minute, and ends with the last word.
    @Test func blocksThatComeAndGoAreLoggedOnceAMinute() {
        var rig = MachineRig()
        func lines() -> [String] {
            rig.logs.compactMap { $0.contains("cannot send") ? "blocked" : $0.contains("sends again") ? "sends" : nil }
        }
        func reply(_ reply: ClaimReply) {
            rig.advance(milliseconds: 10_000)
            rig.handle(.claimReplied(reply, askedNs: rig.now.monotonicNs))
        }
        for _ in 0..<3 {
            reply(ClaimReply.blocked())
            reply(.empty())
        }
        #expect(lines() == ["blocked", "sends"])
        reply(ClaimReply.blocked())
        #expect(lines() == ["blocked", "sends", "blocked"], "after a minute, while it is blocked")
        reply(ClaimReply.blocked())
        reply(.empty())
        reply(ClaimReply.blocked())
        #expect(lines() == ["blocked", "sends", "blocked", "sends"])
        for _ in 0..<4 { reply(ClaimReply.blocked()) }
        #expect(lines().last == "blocked")
    }

    @Test func probeThatFCMJudgesForItselfIsUnused() {
        var rig = MachineRig()
        rig.hold(.of(count: 2), .message(total: 2))
        rig.handle(.claimReplied(ClaimReply.blocked(probe: true), askedNs: rig.now.monotonicNs))
        rig.send()
        rig.answer(.dead)
        rig.flushNow()
        let call = rig.confirm().call
        #expect(call.probeUnused && !call.projectAnswers && Array(call.fates.values) == ["f"])
    }

    /// A probe has one recipient, although the others could share its request.
    @Test func probeOfAMulticastHasOneRecipient() {
        var settings = SendMachine.Settings()
        settings.protocols.transport = .legacy
        var rig = MachineRig(settings)
        rig.handle(.claimReplied(ClaimReply.blocked(probe: true), askedNs: rig.now.monotonicNs))
        rig.hold(.of(count: 10), .message(total: 10) { $0.format = .legacy })
        rig.machine.gate.block("why", now: rig.now.monotonicNs)
        rig.machine.gate.mayProbe = true
        rig.send()
        #expect(rig.positions.map(\.count) == [1])
    }

    @Test func refusedRecipientsGoBackWhileTheProjectIsBlocked() {
        var rig = MachineRig()
        rig.handle(.claimReplied(ClaimReply.blocked(), askedNs: rig.now.monotonicNs))
        let now = rig.now.projectMs
        let claim = Claim.of(count: 4) {
            $0.pass = .retry
            for (position, agoMs) in [1_000, 90_000, 3_600_000, 90_000].enumerated() {
                let refusals = position == 3 ? 0 : 1
                $0.recipients[position].history = RecipientHistory(
                    attempts: 1,
                    firstAttemptMs: now - Int64(agoMs),
                    refusals: refusals
                )
            }
        }
        rig.handle(
            .claimReplied(
                .empty(permits: 9, claims: [claim]) {
                    $0.probeMs = 1
                    $0.blockReason = "HTTP 403 denied"
                },
                askedNs: rig.now.monotonicNs
            )
        )
        rig.handle(.specLoaded(job: "j", .message(total: 4, ttl: "3601s")))
        rig.send()
        #expect(rig.requests.isEmpty)
        let call = rig.confirm().call
        #expect(call.fates == [0: "r", 1: "r", 2: "f", 3: "r"], "the hour of trying runs on")
        #expect(call.retries.map { $0.dueMs - now } == [60_000, 60_000, 1 - now])
        #expect(call.retries.allSatisfy { $0.packed.hasPrefix("1|") } && call.refusal.isEmpty, "none was sent")
        rig.expectEmpty()
    }

    @Test func lifetimeOfARefusedRecipientRunsOnWhileBlocked() {
        var rig = MachineRig()
        rig.handle(.claimReplied(ClaimReply.blocked(), askedNs: rig.now.monotonicNs))
        let history = RecipientHistory(attempts: 1, firstAttemptMs: rig.now.projectMs - 90_000, refusals: 1)
        let claim = Claim.of {
            $0.pass = .retry
            $0.recipients[0].history = history
        }
        var reply = ClaimReply.blocked()
        reply.claims = [claim]
        rig.handle(.claimReplied(reply, askedNs: rig.now.monotonicNs))
        rig.handle(.specLoaded(job: "j", .message(ttl: "80s")))
        rig.send()
        #expect(rig.confirm().call.fates == [0: "x"])
        rig.expectEmpty()
    }

    /// The one recipient that Redis chose as the probe is sent, refused or not.
    @Test func claimedProbeIsSentAlthoughItWasRefused() {
        var rig = MachineRig()
        rig.handle(.claimReplied(ClaimReply.blocked(), askedNs: rig.now.monotonicNs))
        var reply = ClaimReply.blocked()
        reply.claims = [
            .of {
                $0.pass = .retry
                $0.isProbe = true
                $0.recipients[0].history = RecipientHistory(attempts: 1, firstAttemptMs: 5, refusals: 1)
            }
        ]
        reply.claims[0].recipients[0].history.firstAttemptMs = rig.now.projectMs - 70_000
        rig.handle(.claimReplied(reply, askedNs: rig.now.monotonicNs))
        rig.handle(.specLoaded(job: "j", .message()))
        rig.send()
        #expect(rig.requests.count == 1)
        rig.answer(.forbidden)
        let call = rig.confirm().call
        #expect(call.fates == [0: "r"] && RecipientHistory.parse(call.retries[0].packed)?.0.refusals == 1)
        rig.expectEmpty()
    }
}

/// The count of a recipient's refusals in what Redis keeps of it.
@Suite struct RefusalHistoryTests {
    @Test(arguments: [0, 5, 1_700_000_000_000] as [Int64], [0, 1, 2, 30])
    func refusalsSurviveTheRoundTrip(first: Int64, refusals: Int) throws {
        let history = RecipientHistory(attempts: 3, firstAttemptMs: first, maybeDuplicate: true, refusals: refusals)
        let packed = history.packed(with: "a|b")
        let (parsed, recipient) = try #require(RecipientHistory.parse(packed))
        var expected = history
        expected.refusals = min(9, refusals)
        #expect(parsed == expected && recipient == "a|b")
        // A worker that knows no refusals reads the same numbers.
        let parts = packed.split(separator: "|", maxSplits: 3)
        #expect(Int(parts[0]) == 3 && Int64(parts[1]) == first && parts[2] == "1")
    }
}
