import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// (401, what is known of the recipient, its token and the credential) → what becomes of the recipient and the token.
@Suite struct SendMachineTokenTests {
    /// Every recipient with a 401 waits for the next token; whether the others wait, too, depends on the evidence.
    @Test func tokenOfAnAcceptedCredentialIsRenewedInTheBackground() {
        var rig = MachineRig.sending(.of(count: 4), .message(total: 4), .init())
        rig.answer(.sent())
        _ = rig.takeNamed()
        rig.answer(.refusedToken)
        #expect(rig.takeNamed() == ["renewCredential 0"], "one recipient's 401 holds back no other")
        rig.answer(.refusedToken)
        #expect(rig.takeNamed().contains("refuseCredential 0"), "a second one in a row does")
        rig.answer(.sent())
        rig.send()
        #expect(rig.requests.isEmpty, "they wait for the next token")
        rig.machine.gate.resources.credentialGeneration = 1
        rig.send()
        #expect(rig.positions == [[2], [1]])
        _ = rig.takeNamed()
        rig.answer(.sent())
        rig.answer(.refusedToken)
        #expect(rig.takeNamed().allSatisfy { !$0.contains("Credential") }, "a third token will not help")
        #expect(rig.writeAll().written == "0s 1r 2s 3s")
        rig.expectEmpty()
    }

    /// One recipient proves nothing about the token, however many messages are for it.
    @Test func oneRecipientsRefusedTokenHoldsBackNoOther() {
        var rig = MachineRig.sending(.of(count: 2), .message(total: 2), .init())
        for job in ["k", "l", "m"] { rig.hold(.named(["t1"], job), .message()) }
        rig.send()
        rig.answer(.sent())
        _ = rig.takeNamed()
        for _ in 0..<4 { rig.answer(.refusedToken) }
        #expect(rig.takeNamed().filter { $0.contains("Credential") } == ["renewCredential 0"])
        rig.machine.gate.resources.credentialGeneration = 1
        rig.send()
        for _ in 0..<4 { rig.answer(.refusedToken) }
        #expect(rig.writeAll().written == "0r 0r 0r 0s 1r")
        rig.expectEmpty()
    }

    /// A fresh token of an accepted credential is in order, so many recipients' 401s hold back no other either.
    @Test func freshTokenIsRenewedInTheBackgroundHoweverManyRecipientsAreRefused() {
        var rig = MachineRig.sending(.of(count: 6), .message(total: 6), .init())
        rig.machine.gate.resources.isTokenFresh = true
        rig.answer(.sent())
        for _ in 0..<4 { rig.answer(.refusedToken) }
        #expect(rig.takeNamed().filter { $0.contains("Credential") } == ["renewCredential 0"])
        rig.machine.gate.resources.isTokenFresh = false
        rig.answer(.refusedToken)
        #expect(rig.takeNamed().contains("refuseCredential 0"), "an older one is refused")
        #expect(rig.machine.gate.doubted.isEmpty, "none is evidence against the project before a newer token")
    }

    @Test func freshTokenOfANewCredentialIsRefused() {
        var rig = MachineRig.sending(.of(), .message(), .init())
        rig.machine.gate.resources.isTokenFresh = true
        rig.answer(.refusedToken)
        #expect(rig.takeNamed().contains("refuseCredential 0"))
    }

    /// A 401 that was in flight when a newer token came says nothing about that one.
    @Test func recipientRefusedWithAnOlderTokenIsSentAgainWithTheNewer() {
        var rig = MachineRig.sending(.of(count: 3), .message(total: 3), .init())
        rig.answer(.sent())
        rig.machine.gate.resources.credentialGeneration = 1
        _ = rig.takeNamed()
        rig.answer(.refusedToken)
        rig.answer(.refusedToken)
        #expect(rig.takeNamed().allSatisfy { !$0.contains("Credential") })
        rig.send()
        #expect(rig.requests.count == 2)
        rig.answer(.sent())
        rig.answer(.sent())
        #expect(rig.writeAll().written == "0s 1s 2s")
        rig.expectEmpty()
    }

    /// An older token's 401 does not end the wait of a recipient that the current one was refused for.
    @Test func lateRefusalOfAnOlderTokenEndsNoWait() {
        var rig = MachineRig.sending(.of(count: 3), .message(total: 3), .init())
        rig.answer(.sent())
        rig.answer(.unsent)
        rig.machine.gate.resources.credentialGeneration = 1
        rig.send()
        #expect(rig.positions == [[2], [1]], "one with each token")
        rig.answer(.refusedToken, at: 1)
        rig.answer(.refusedToken)
        rig.send()
        #expect(rig.positions == [[2]], "only the one of the older token is sent again")
    }

    /// (refusals before, whether the token is fresh) → whether the retry of a refused recipient gets a newer token. A worker
    /// whose other recipients are all refused would else keep a token that FCM refuses.
    @Test(arguments: [(0, false, true), (0, true, true), (1, false, true), (2, false, true), (1, true, false)])
    func refusedRecipientGetsANewerToken(refusals: Int, isFresh: Bool, waits: Bool) {
        var rig = MachineRig.sending(.of("a"), .message(), .init())
        rig.answer(.sent())
        rig.machine.gate.resources.isTokenFresh = isFresh
        let claim = Claim.of("b") {
            $0.pass = .retry
            $0.recipients[0].history = RecipientHistory(attempts: 1, firstAttemptMs: 1, refusals: refusals)
        }
        rig.hold(claim, .message())
        rig.send()
        _ = rig.takeNamed()
        rig.answer(.refusedToken)
        #expect(rig.takeNamed().contains("renewCredential 0") == waits)
        rig.machine.gate.resources.credentialGeneration = 1
        rig.send()
        #expect(rig.requests.count == (waits ? 1 : 0))
    }

    /// The probe of a blocked project is sent again with the next token, or each stale one would cost a minute.
    @Test func probeWithARefusedTokenIsRepeated() {
        var rig = MachineRig.sending(.of(), .message(), .init())
        rig.answer(.sent())
        rig.handle(.claimReplied(ClaimReply.blocked(probe: true), askedNs: rig.now.monotonicNs))
        rig.hold(.of("k"), .message())
        rig.machine.gate.block("why", now: rig.now.monotonicNs)
        rig.machine.gate.mayProbe = true
        rig.send()
        rig.answer(.refusedToken)
        rig.send()
        #expect(rig.requests.isEmpty && !rig.machine.gate.mayProbe)
        rig.machine.gate.resources.credentialGeneration = 1
        rig.send()
        #expect(rig.requests.count == 1)
        rig.answer(.sent())
        rig.flushNow()
        #expect(rig.flushes.contains { $0.call.projectAnswers })
    }

    @Test func recipientWaitsForNoTokenThatDoesNotCome() {
        var rig = MachineRig.sending(.of(), .message(), .init())
        rig.answer(.sent())
        rig.hold(.named(["otp"], "k"), .message(ttl: "0s"))
        rig.send()
        rig.answer(.refusedToken)
        rig.send()
        #expect(rig.requests.isEmpty)
        rig.advance(milliseconds: 15_000)
        rig.lend(5)
        rig.send()
        #expect(rig.requests.count == 1)
    }

    @Test func recipientThatWaitsForATokenEndsWithItsJob() {
        var rig = MachineRig.sending(.of(), .message(), .init())
        rig.answer(.refusedToken)
        rig = rig.hearing(.end(job: "j", status: "cancelled"))
        #expect(rig.writeAll().written == "0c")
        rig.expectEmpty()
    }

    /// The recipient was refused before the accepted send, and waited for a token meanwhile.
    @Test func tokenRefusedAgainAfterAnAcceptedSendIsNoEvidence() {
        var rig = MachineRig.sending(.of(count: 2), .message(total: 2), .init())
        rig.answer(.refusedToken)
        rig.answer(.sent())
        rig.machine.gate.resources.credentialGeneration = 1
        rig.send()
        rig.answer(.refusedToken)
        let calls = rig.flushes.map(\.call) + [rig.confirm().call]
        #expect(calls.allSatisfy { $0.refused.isEmpty } && calls.contains { $0.refusal.hasPrefix("HTTP 401") })
        #expect(rig.machine.gate.doubted.isEmpty)
        rig.expectEmpty()
    }

    @Test func tokenRefusedTwiceIsEvidence() {
        var rig = MachineRig.sending(.of(), .message(), .init())
        rig.answer(.refusedToken)
        rig.machine.gate.resources.credentialGeneration = 1
        rig.send()
        rig.answer(.refusedToken)
        let call = rig.confirm().call
        #expect(rig.machine.gate.blockReason == nil && call.fates == [0: "r"])
        #expect(call.refused.count == 1 && call.refusal.hasPrefix("HTTP 401"))
        rig.expectEmpty()
    }
}
