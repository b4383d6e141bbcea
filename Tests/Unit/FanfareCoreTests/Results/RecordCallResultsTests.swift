import FanfareModel
import Testing

@testable import FanfareCore
@testable import StreamWire

/// Results are put into a flush as the job's policy asks.
@Suite struct RecordCallResultsTests {
    private func record(_ index: Int, _ status: ResultStatus = .sent) -> ResultRecord {
        ResultRecord(
            index: Int64(index),
            recipient: "t\(index)",
            messageID: status == .sent ? "m\(index)" : "",
            attempts: 1,
            kind: .token,
            status: status
        )
    }

    private func call(_ records: [ResultRecord], _ policy: ResultsPolicy) -> RecordCall {
        var call = RecordCall(job: "j", batch: "0", epoch: "1")
        for record in records { call.append(record, policy: policy, expected: 8) }
        return call
    }

    private func flagged(_ call: RecordCall) -> RecordCall {
        var flagged = call
        flagged.results = call.results.flaggedMaybeDuplicate()
        return flagged
    }

    private func object(_ index: Int, maybeDup: Bool = false) -> String {
        #"{"i":\#(index),"token":"t\#(index)","status":"sent","message_id":"m\#(index)","attempts":1"#
            + (maybeDup ? #","maybe_dup":true}"# : "}")
    }

    @Test func policyAllWritesEveryObject() {
        let call = call([record(0), record(1)], .all)
        #expect(call.objects == "[\(object(0)),\(object(1))]" && call.letters == [0: "s", 1: "s"])
        #expect(flagged(call).objects == "[\(object(0, maybeDup: true)),\(object(1, maybeDup: true))]")
    }

    /// A spare object is written in its place when its recipient turns out to be in doubt.
    @Test func spareObjectsAreWrittenWhenFlagged() {
        let call = call([record(0), record(1, .unknown), record(2), record(3)], .failures)
        #expect(call.objects == #"[{"i":1,"token":"t1","status":"unknown","attempts":1}]"#)
        #expect(call.letters == [0: "s", 1: "u", 2: "s", 3: "s"])
        let objects = [
            object(0, maybeDup: true), #"{"i":1,"token":"t1","status":"unknown","attempts":1,"maybe_dup":true}"#,
            object(2, maybeDup: true), object(3, maybeDup: true),
        ]
        #expect(flagged(call).objects == "[\(objects.joined(separator: ","))]")
    }

    @Test func policyNoneWritesNoObjects() {
        let call = call([record(0), record(1, .failed)], .none)
        #expect(call.objects.isEmpty && call.letters == [0: "s", 1: "f"])
        #expect(flagged(call).objects.isEmpty && flagged(call).letters == call.letters)
    }

    @Test func aResultThatIsInDoubtAlreadyIsFlaggedOnce() {
        var doubtful = record(0)
        doubtful.maybeDup = true
        let call = call([doubtful], .failures)
        #expect(call.objects == "[\(object(0, maybeDup: true))]" && flagged(call).objects == call.objects)
    }

    @Test func feedbackIsWrittenUnderEveryPolicy() {
        let dead = Failure(error: .unregistered, action: .remove, httpStatus: 404)
        var failed = record(0, .failed)
        failed.failure = dead
        var replaced = record(1)
        replaced.canonical = "new"
        for policy in [ResultsPolicy.all, .failures, .none] {
            let feedback = call([failed, replaced], policy).feedback
            #expect(feedback.map(\.action) == ["remove", "replace"] && feedback.map(\.recipient) == ["t0", "t1"])
            #expect(feedback.map(\.error) == ["UNREGISTERED", ""] && feedback.map(\.replacement) == ["", "new"])
        }
    }

    @Test func subscribedTokensFollowTheirTopic() {
        var call = call([], .all)
        call.appendSubscribed(SharedText("t0"), topic: "news")
        call.appendSubscribed(SharedText("t1"), topic: "news")
        #expect(call.subscribed.starts(with: Array("news\n".utf8)) && call.subscribed.count == 5 + 16)
        let hashes = call.subscribed.dropFirst(5)
        #expect(hashes.prefix(8) != hashes.suffix(8))
    }

    // MARK: Texts that travel

    @Test(arguments: [
        (401, "denied", "HTTP 401 denied: the credential is refused: check it and its project"),
        (
            403, "",
            "HTTP 403 UNSPECIFIED_ERROR: no permission: grant the identity roles/firebasecloudmessaging.admin, or enable the FCM API"
        ),
        (404, "x", "HTTP 404 x: not found: check the project id and the endpoint"),
        (0, "no key", "no key: check the project's credentials"),
    ])
    func blockReasonNamesTheRemedy(status: Int, raw: String, text: String) {
        let failure = Failure(error: .unspecified, action: .fixCredentials, rawError: raw, httpStatus: status)
        #expect(BlockReason.text(failure) == text)
    }

    @Test func refusedCredentialBlocksWithItsOwnRemedy() {
        let raw = "STS: HTTP 400: invalid_target; correct audience"
        let failure = Failure(error: .thirdPartyAuthError, action: .fixCredentials, rawError: raw, httpStatus: 0)
        #expect(BlockReason.text(failure) == raw)
    }
}
