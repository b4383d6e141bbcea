import FanfareModel
import Testing

@testable import FanfareCore

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
        #expect(progress.apply(.sent(messageID: "x", canonical: nil), to: "a") == nil)
        #expect(progress.apply(.failed(unregistered), to: "b") == nil)
        #expect(progress.apply(.retry(busy), to: "c") == busy)
        #expect(progress.pending == ["c"])
        #expect(progress.failed == [.init(token: "b", error: .unregistered, isDead: true)])
        progress.giveUp()
        #expect(progress.failedTokens == ["b", "c"])
        #expect(progress.pending.isEmpty)
    }

    @Test func aRefusedCredentialBlamesNoMember() {
        var progress = GroupProgress(key: "K", messageID: "", pending: ["a"])
        let failure = Failure(error: .unspecified, action: .fixCredentials, httpStatus: 401)
        let retry = progress.apply(.refreshCredential(failure), to: "a")
        #expect(retry?.countsAttempt == false)
        #expect(progress.pending == ["a"])
    }

    @Test(arguments: ["", "1:2%3", "with blanks, and!marks"])
    func whatIsKeptIsReadBack(messageID: String) throws {
        var progress = GroupProgress(key: "APA91b-_:.", messageID: messageID, pending: ["a:1", "b-2", "c_3"])
        _ = progress.apply(.failed(unregistered), to: "b-2")
        _ = progress.apply(.unknown(unregistered, retryAfterMs: nil), to: "c_3")
        let read = try #require(GroupProgress(progress.text))
        #expect(read == progress)
        progress.giveUp()
        #expect(GroupProgress(progress.text) == progress)
    }

    // MARK: A group of which no member was reached

    private let foreign = Failure(error: .senderIDMismatch, action: .fixCredentials, rawError: "", httpStatus: 200)

    private func unreached(_ members: String...) -> GroupProgress {
        GroupProgress(key: "K", messageID: "", pending: members, isReached: false)
    }

    @Test func aMemberThatIsReachedReachesTheGroup() {
        var progress = unreached("a", "b")
        _ = progress.apply(.failed(unregistered), to: "a")
        #expect(!progress.isReached)
        _ = progress.apply(.sent(messageID: "m", canonical: nil), to: "b")
        #expect(progress.isReached)
        #expect(progress.failure(httpStatus: 200) == nil)
        #expect(progress.failedTokens == ["a"])
    }

    @Test func whereAllMembersAreDeadTheGroupIsEmpty() {
        var progress = unreached("a", "b")
        for member in ["a", "b"] { _ = progress.apply(.failed(unregistered), to: member) }
        let failure = progress.failure(httpStatus: 200)
        #expect(failure?.error == .emptyGroup && failure?.action == RemedyAction.none && failure?.httpStatus == 200)
        #expect(progress.failedTokens == ["a", "b"])
    }

    @Test func whereSomeWereGivenUpTheGroupWasUnavailable() {
        var progress = unreached("a", "b")
        _ = progress.apply(.failed(unregistered), to: "a")
        #expect(progress.apply(.retry(busy), to: "b") == busy)
        progress.giveUp()
        let failure = progress.failure(httpStatus: 0)
        #expect(failure?.error == .unavailable && failure?.action == RemedyAction.none && failure?.httpStatus == 0)
        #expect(progress.failedTokens == ["a", "b"])
    }

    @Test func whereLivingMembersWereRefusedTheirErrorIsTheGroups() {
        var progress = unreached("a", "b")
        _ = progress.apply(.failed(foreign), to: "a")
        _ = progress.apply(.failed(unregistered), to: "b")
        let failure = progress.failure(httpStatus: 200)
        #expect(failure?.error == .senderIDMismatch && failure?.action == .fixCredentials)
    }

    @Test func whereAMemberIsUnknownSoIsTheGroup() {
        var progress = unreached("a", "b")
        _ = progress.apply(.failed(unregistered), to: "a")
        _ = progress.apply(.unknown(unregistered, retryAfterMs: nil), to: "b")
        #expect(progress.failure(httpStatus: 200) == nil)
        #expect(!progress.isReached)
    }

    @Test func thatNoMemberWasReachedIsKept() throws {
        var progress = unreached("a:1", "b-2")
        #expect(GroupProgress(progress.text) == progress)
        _ = progress.apply(.unknown(unregistered, retryAfterMs: nil), to: "a:1")
        #expect(GroupProgress(progress.text) == progress)
        _ = progress.apply(.failed(unregistered), to: "b-2")
        #expect(GroupProgress(progress.text) == progress)
        // What an older worker wrote says nothing of it, and begins where some were reached.
        let old = try #require(GroupProgress("K a!,b a!!0 m"))
        #expect(old.isReached)
    }

    @Test func aBareKeyIsAGroupThatWasNotSentTo() {
        #expect(GroupProgress("APA91b") == nil)
    }
}
