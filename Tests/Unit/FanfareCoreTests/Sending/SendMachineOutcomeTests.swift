import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// What an answer does to its recipient, to the project, and to the members of a group.
@Suite struct SendMachineOutcomeTests {
    private static let failure = Failure(
        error: .unspecified,
        action: .fixCredentials,
        rawError: "denied",
        httpStatus: 401
    )

    private func sending(_ spec: JobSpec = .message(total: 3), count: Int = 3, canRefresh: Bool = true) -> MachineRig {
        var settings = SendMachine.Settings()
        settings.canRefreshCredential = canRefresh
        var rig = MachineRig(settings)
        let isGroup = spec.kind == .group
        rig.hold(isGroup ? .named(["key"]) : .of(count: count), spec)
        rig.send()
        return rig
    }

    // MARK: A request that never left

    @Test func aRequestThatNeverLeftIsRepeatedThreeTimesFromHere() {
        var rig = sending(.message(), count: 1)
        for _ in 0..<3 {
            rig.answer(.unsent)
            #expect(rig.flushes.isEmpty && rig.flushAt == nil, "no attempt is counted")
            rig.send()
            #expect(rig.positions == [[0]])
        }
        rig.answer(.unsent)
        let retry = rig.confirm().call.retries.first
        #expect(retry?.packed.hasPrefix("0|") == true, "it waits in Redis, with no attempt counted")
        rig.expectEmpty()
    }

    @Test func aRequestThatNeverLeftIsNotRepeatedWhereNothingIsSent() {
        for news in [News.stop(job: "j", epoch: 1), .end(job: "j", status: "cancelled")] {
            var rig = sending(.message(), count: 1)
            rig = rig.hearing(news)
            rig.answer(.unsent)
            #expect(rig.writeAll().written == (news == .stop(job: "j", epoch: 1) ? "0r" : "0c"))
            rig.expectEmpty()
        }
    }

    @Test func aTagThatIsNotInFlightIsIgnored() {
        var rig = sending()
        rig.handle(.completed(tag: 77, .sent()))
        rig.handle(.completed(tag: -1, .sent()))
        #expect(rig.requests.count == 3 && rig.machine.inFlight == 3)
    }

    @Test func tagsAreUsedAgain() {
        var rig = sending()
        let tags = rig.requests.map(\.tag)
        for _ in 0..<3 { rig.answer(.sent()) }
        rig.confirmAll()
        rig.hold(.of(epoch: 2, count: 3), .message(total: 3))
        rig.send()
        #expect(Set(rig.requests.map(\.tag)) == Set(tags))
    }

    // MARK: The access token is refused

    @Test func aRefusedTokenIsReplacedAndTheSendRepeated() {
        var rig = sending(.message(), count: 1)
        rig.answer(.refusedToken)
        #expect(rig.takeNamed().last == "refuseCredential 0" && rig.machine.gate.blockReason == nil)
        rig.machine.gate.resources.credentialGeneration = 1
        rig.send()
        #expect(rig.positions == [[0]])
        rig.answer(.sent())
        #expect(rig.confirm().call.letters == [0: "s"])
        rig.expectEmpty()
    }

    @Test(arguments: [(News.stop(job: "j", epoch: 1), "0r"), (.end(job: "j", status: "cancelled"), "0c")])
    func aRefusedTokenOfABatchThatStopsBlocksNothing(news: News, fate: String) {
        var rig = sending(.message(), count: 1)
        rig = rig.hearing(news)
        rig.answer(.refusedToken)
        #expect(rig.writeAll().written == fate && rig.machine.gate.blockReason == nil)
        rig.expectEmpty()
    }

    // MARK: Block

    @Test func anAnswerToAnEarlierQuestionDoesNotEndABlock() {
        var rig = MachineRig()
        rig.hold(.of(count: 2), .message(total: 2))
        let asked = rig.now.monotonicNs
        rig.advance(milliseconds: 10)
        rig.machine.gate.resources.credential = .failed(Self.failure)
        rig.send()
        rig.handle(.claimReplied(.empty(), askedNs: asked))
        #expect(rig.machine.gate.blockReason != nil)
        rig.confirmAll()
        rig.handle(.claimReplied(.empty(), askedNs: rig.now.monotonicNs + 1))
        #expect(rig.machine.gate.blockReason == nil)
    }

    @Test func unsentProbeClosesAsUnused() {
        var rig = MachineRig()
        rig.hold(.of { $0.isProbe = true }, .message())
        rig = rig.hearing(.end(job: "j", status: "cancelled"))
        #expect(rig.confirm().call.probeUnused)
        rig.expectEmpty()
    }

    /// One recipient brings the reason to Redis; the others wait as they are.
    @Test func aFailedCredentialParksOneRecipient() {
        var rig = MachineRig()
        rig.hold(.of(count: 3), .message(total: 3))
        rig.machine.gate.resources.credential = .failed(Self.failure)
        rig.send()
        rig.send()
        #expect(rig.requests.isEmpty && rig.machine.unsentCount(0) == 2)
        rig.flushNow()
        let call = rig.confirm().call
        #expect(call.fates == [0: "p"] && call.blockReason.contains("denied"))
    }

    /// The batch closes with its last recipient, though nothing of it was sent.
    @Test func aBatchWhoseLastRecipientIsParkedLeavesTheQueue() {
        var rig = MachineRig()
        rig.hold(.of(), .message())
        rig.machine.gate.resources.credential = .failed(Self.failure)
        rig.send()
        #expect(rig.confirm().call.fates == [0: "p"])
        rig.expectEmpty()
        rig.send()
        rig.hold(.of(epoch: 2), .message())
        rig.machine.gate.resources.credential = .ready
        rig.handle(.claimReplied(.empty(permits: 5), askedNs: rig.now.monotonicNs + 1))
        rig.send()
        #expect(rig.positions == [[0]])
    }

    // MARK: What else an answer says of the project

    @Test func aRefusedQuotaHoldsTheProject() {
        var rig = sending()
        rig.answer(.overQuota)
        #expect(rig.machine.gate.isHeld(now: rig.now.monotonicNs))
        rig.flushNow()
        #expect((rig.confirm().call.holdMs) > 0)
        rig.lend(10)
        rig.send()
        #expect(rig.requests.count == 2)
    }

    @Test func aCredentialOfApplesIsLoggedOnceAMinute() {
        let body =
            #"{"error":{"code":401,"message":"m","status":"UNAUTHENTICATED","details":"#
            + #"[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"THIRD_PARTY_AUTH_ERROR"}]}}"#
        var rig = sending()
        rig.answer(.status(401, body))
        rig.answer(.status(401, body))
        #expect(rig.logs.count { $0.contains("Apple") } == 1)
        rig.advance(milliseconds: 60_000)
        rig.answer(.status(401, body))
        #expect(rig.logs.count { $0.contains("Apple") } == 2)
    }

    // MARK: Operations

    @Test func anOperationRefusedTwiceFailsAndBlocksNothing() {
        var rig = MachineRig()
        func send(_ epoch: Int) {
            rig.hold(.of(epoch: epoch), .operation())
            rig.send()
            rig.handle(.managementGranted(1))
            rig.send()
        }
        send(1)
        rig.answer(.refusedToken)
        #expect(rig.takeNamed().contains("renewCredential 0"))
        #expect(rig.confirm().call.fates == [0: "r"])
        rig.machine.gate.resources.credentialGeneration = 1
        send(2)
        rig.answer(.refusedToken)
        #expect(rig.confirm().call.fates == [0: "f"])
        #expect(rig.machine.gate.blockReason == nil && rig.logs.contains { $0.contains("operations") })
        rig.expectEmpty()
    }

    // MARK: Members of a group

    private func roundRig(_ permits: Int = 100) -> MachineRig {
        var rig = MachineRig()
        let progress = GroupProgress(key: "key", messageID: "m", pending: ["a", "b", "c"])
        let claim = Claim.named([progress.text]) {
            $0.pass = .retry
            $0.recipients[0].history = RecipientHistory(attempts: 1, firstAttemptMs: rig.now.projectMs - 10_000)
        }
        rig.claim(claim, permits: permits)
        rig.handle(.specLoaded(job: "j", .group()))
        rig.send()
        return rig
    }

    private func members(_ rig: MachineRig) -> [String] {
        rig.requests.compactMap { rig.machine.request($0.tag)?.member }
    }

    @Test func membersAreSentToOneByOne() {
        var rig = roundRig(2)
        #expect(members(rig) == ["a", "b"] && rig.machine.unsentCount(0) == 1)
        rig.lend(5)
        rig.send()
        #expect(members(rig) == ["a", "b", "c"])
        rig.answer(.sent())
        rig.answer(.dead)
        #expect(rig.flushes.isEmpty, "the group has one result")
        rig.answer(.sent())
        let call = rig.confirm().call
        #expect(call.letters == [0: "s"] && call.objects.contains(#""failed_tokens":["b"]"#))
        #expect(call.feedback.map(\.recipient) == ["b"])
        rig.expectEmpty()
    }

    @Test func membersThatWaitAreKeptWithTheGroup() {
        var rig = roundRig()
        rig.answer(.sent())
        rig.answer(.overloaded)
        rig.answer(.unsent)
        let packed = rig.confirm().call.retries.first?.packed ?? ""
        #expect(GroupProgress(String(packed.split(separator: "|", maxSplits: 3).last ?? ""))?.pending == ["b", "c"])
        rig.expectEmpty()
    }

    @Test func aStoppedRoundGoesBackWithItsRest() {
        var rig = roundRig(1)
        rig = rig.hearing(.stop(job: "j", epoch: 1))
        rig.answer(.sent())
        let packed = rig.confirm().call.retries.first?.packed ?? ""
        #expect(GroupProgress(String(packed.split(separator: "|", maxSplits: 3).last ?? ""))?.pending == ["b", "c"])
        rig.expectEmpty()
    }

    @Test func aRoundOfAJobThatEndsHasItsResult() {
        var rig = roundRig(1)
        rig = rig.hearing(.end(job: "j", status: "cancelled"))
        rig.answer(.sent())
        #expect(rig.writeAll().written == "0s", "FCM reached a member")
        rig.expectEmpty()
    }

    @Test func aRoundThatIsLostDecidesNothing() {
        var rig = roundRig(1)
        rig.handle(.leaseLost)
        rig.answer(.sent())
        #expect(rig.writeAll() == ("", ""))
        #expect(rig.outcomes == [.lost])
        rig.expectEmpty()
    }

    @Test func aTokenRefusedForAMemberIsReplacedOnce() {
        var rig = roundRig()
        rig.answer(.refusedToken)
        #expect(rig.takeNamed().contains("refuseCredential 0"))
        rig.answer(.refusedToken)
        #expect(rig.machine.gate.blockReason == nil, "with the same token")
        rig.answer(.overloaded)
        #expect(rig.confirm().call.fates == [0: "r"])
        rig.machine.gate.resources.credentialGeneration = 1
        let progress = GroupProgress(key: "key", messageID: "m", pending: ["a"])
        rig.hold(.named([progress.text], epoch: 2), .group())
        rig.send()
        rig.answer(.refusedToken)
        let call = rig.confirm().call
        #expect(call.fates == [0: "r"] && call.refused.count == 1, "a third token will not help")
        rig.expectEmpty()
    }

    @Test func refusedMemberHoldsBackNoOther() {
        var rig = roundRig()
        rig.answer(.forbidden)
        rig.answer(.sent())
        rig.answer(.sent())
        let call = rig.confirm().call
        #expect(call.fates == [0: "r"] && call.projectAnswers && call.refused.isEmpty)
        rig.expectEmpty()
    }

    @Test func aMembersRefusedRateIsWrittenForEverybody() {
        let body =
            #"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":["#
            + #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"QUOTA_EXCEEDED"},"#
            + #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"device"}]}]}}"#
        var rig = roundRig(1)
        rig.answer(.status(429, body))
        rig.flushNow()
        #expect(rig.flushes.flatMap(\.call.refusedRates).map(\.recipient) == ["token:a"])
    }
}
