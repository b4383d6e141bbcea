import Testing

@testable import FanfareCore

@Suite struct CredentialEvidenceTests {
    @Test func credentialIsAcceptedUntilAnotherOneIs() {
        var evidence = CredentialEvidence()
        #expect(!evidence.isAccepted(0) && !evidence.isAccepted(7))
        #expect([7, 7].map { evidence.accept($0) } == [true, false])
        #expect(evidence.isAccepted(7))
        #expect(evidence.accept(8) == true)
        #expect(!evidence.isAccepted(7) && evidence.isAccepted(8))
        #expect(evidence.acceptedSends == 3)
    }

    @Test func proofThatRedisDidNotTakeIsNewAgain() {
        var evidence = CredentialEvidence()
        _ = evidence.accept(7)
        evidence.forgetAccepted()
        #expect(!evidence.isAccepted(7))
        #expect(evidence.accept(7) == true)
    }

    @Test func tokenIsDoubtedByAnotherRecipientOnly() {
        var evidence = CredentialEvidence()
        #expect(evidence.doubt(1, recipient: 10) == .first)
        #expect(evidence.doubt(1, recipient: 10) == .sameRecipient)
        #expect(evidence.doubt(1, recipient: 11) == .otherRecipient)
        // A newer token begins with no doubt.
        #expect(evidence.doubt(2, recipient: 11) == .first)
    }

    @Test func acceptedSendEndsTheDoubt() {
        var evidence = CredentialEvidence()
        _ = evidence.doubt(1, recipient: 10)
        _ = evidence.accept(7)
        #expect(evidence.doubt(1, recipient: 11) == .first)
    }

    @Test func onlyANewerTokenRefusedAgainIsFinalForAMember() {
        var evidence = CredentialEvidence()
        #expect([1, 1, 2].map { evidence.refuseForMember($0) } == [false, false, true])
        evidence.acceptForMember()
        let isFinal = evidence.refuseForMember(3)
        #expect(!isFinal)
    }

    @Test func refusedJobsAreBoundedAndForgottenWithTheBlock() {
        var evidence = CredentialEvidence()
        for number in 0..<10_001 { evidence.refuseJob("\(number)") }
        #expect(evidence.refusedJobs.count == 10_000 && !evidence.refusedJobs.contains("10000"))
        evidence.endBlock()
        #expect(evidence.refusedJobs.isEmpty)
    }
}
