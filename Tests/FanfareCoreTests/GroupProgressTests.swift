import FanfareCore
import FanfareModel
import Testing

@Suite struct GroupProgressTests {
    private let unregistered = Failure(
        error: .unregistered,
        action: .remove,
        rawError: "NotRegistered",
        httpStatus: 200
    )
    private let busy = Retry(failure: Failure(error: .unavailable, action: .none))

    @Test func membersAreReachedFailOrWaitEachOnTheirOwn() {
        var progress = GroupProgress(key: "K", messageID: "m", pending: ["a", "b", "c"])
        #expect(progress.note(.sent(messageID: "x", canonical: nil), of: "a") == nil)
        #expect(progress.note(.failed(unregistered), of: "b") == nil)
        #expect(progress.note(.retry(busy), of: "c") == busy)
        #expect(progress.pending == ["c"])
        #expect(progress.failed == [.init(token: "b", error: .unregistered, isDead: true)])
        progress.giveUp()
        #expect(progress.failedTokens == ["b", "c"])
        #expect(progress.pending.isEmpty)
    }

    @Test func aRefusedCredentialBlamesNoMember() {
        var progress = GroupProgress(key: "K", messageID: "", pending: ["a"])
        let failure = Failure(error: .unspecified, action: .fixCredentials, httpStatus: 401)
        let retry = progress.note(.refreshCredential(failure), of: "a")
        #expect(retry?.countsAttempt == false)
        #expect(progress.pending == ["a"])
    }

    @Test(arguments: ["", "1:2%3", "with blanks, and!marks"])
    func whatIsKeptIsReadBack(messageID: String) throws {
        var progress = GroupProgress(key: "APA91b-_:.", messageID: messageID, pending: ["a:1", "b-2", "c_3"])
        _ = progress.note(.failed(unregistered), of: "b-2")
        _ = progress.note(.unknown(unregistered, holdProjectMs: nil), of: "c_3")
        let read = try #require(GroupProgress(progress.text))
        #expect(read == progress)
        #expect(GroupProgress.key(in: progress.text) == "APA91b-_:.")
        progress.giveUp()
        #expect(GroupProgress(progress.text) == progress)
    }

    @Test func aBareKeyIsAGroupThatWasNotSentTo() {
        #expect(GroupProgress("APA91b") == nil)
        #expect(GroupProgress.key(in: "APA91b") == "APA91b")
    }
}
