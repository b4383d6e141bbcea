import FanfareConfiguration
import FanfareModel
import Logging
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FCMWire
@testable import FanfareCore
@testable import FanfareWorker

/// What each action of the send machine does in Redis, on a channel, and to the credential.
@Suite struct SendDriverTests {
    private let bench: DriverBench
    private let channel = FakeChannel()
    private let credential = FakeCredential()
    private let driver: SendDriver
    private let claims = Claims()

    private final class Claims { var isStarved: [Bool] = [] }

    init() throws {
        let file = #"{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}"#
        let identity = try Credential.parse(Array(file.utf8))
        bench = try DriverBench(project: .init(settings: .init(id: "p"), credential: identity))
        bench.writer.open(isSameServer: true)
        // Otherwise the runner's own driver sends, too.
        bench.writer.onConfirmed = {}
        let router = TransportRouter()
        for route in [Route.fcm, .instanceID] { router.add(channel, for: route) { _ in } }
        driver = SendDriver(project: bench.context, router: router, credentials: credential, writer: bench.writer)
        driver.onClaimDue = { [claims] in claims.isStarved.append($0) }
    }

    /// A claim is answered with a batch of job `j`.
    private func claim(permits: Int64 = 1_000, watermark: Int64 = 1_000) {
        let batch = RedisValue.batch("j", watermark: watermark)
        answerClaim(permits: permits, [.text("claims"), .array([batch])])
    }

    private func answerClaim(permits: Int64 = 0, _ more: [RedisValue] = []) {
        let value = RedisValue.claimed(nowMs: bench.context.nowMs, unfinished: 1, permits: permits, more)
        guard case .reply(let reply) = ClaimReply.parse(value) else {
            Issue.record("the claim's reply cannot be read")
            return
        }
        driver.handleAndSend(.claimReplied(reply, askedNs: SystemClock.bootNs))
    }

    private static func spec(_ more: KeyValuePairs<String, RedisValue> = [:]) -> RedisValue {
        let pairs = RedisValue.pairs([
            "kind": .text("token"), "message": .text(#"{"notification":{"title":"t"}}"#), "total": .integer(1),
        ])
        return .array((pairs.array ?? []) + (RedisValue.pairs(more).array ?? []))
    }

    /// Sends job `j` to its one recipient.
    private func send() {
        claim()
        bench.redis.answer(Self.spec())
        _ = bench.redis.removeNames()
    }

    /// FCM's answer to the oldest request.
    private func answer(_ status: Int, _ body: String) {
        guard let tag = channel.sent.first?.tag else {
            Issue.record("nothing was sent")
            return
        }
        channel.onCompletion(tag, .answered(HTTPAnswer(status: status, body: Array(body.utf8))))
    }

    private static let accepted = #"{"name":"projects/p/messages/1"}"#

    // MARK: The spec

    @Test func specIsLoadedBeforeTheFirstSend() {
        claim()
        #expect(bench.redis.waiting.map(\.words) == [["spec", "j"]] && channel.sent.isEmpty)
        bench.redis.answer(Self.spec())
        #expect(channel.sent.count == 1)
        #expect(channel.sent.first.map { String(decoding: $0.request.body, as: UTF8.self).contains("token") } == true)
    }

    @Test func specThatCannotBeReadNowIsReadAgain() {
        claim()
        bench.redis.refuse("LOADING later")
        bench.loop.advance(milliseconds: 199)
        #expect(bench.redis.waiting.isEmpty)
        bench.loop.advance(milliseconds: 1)
        #expect(bench.redis.waiting.map(\.words) == [["spec", "j"]])
    }

    /// The job has ended.
    @Test func batchWithoutASpecIsForgotten() {
        claim()
        bench.redis.answer(.array([]))
        #expect(bench.context.machine.isEmpty && channel.sent.isEmpty)
        #expect(bench.heard.messages == [])
    }

    /// A newer version wrote it.
    @Test func batchOfAnUnreadableSpecIsGivenBackAfterASecond() {
        claim()
        bench.redis.answer(.pairs(["kind": .text("planet")]))
        #expect(bench.heard.lines.map(\.level) == [.error])
        bench.loop.advance(milliseconds: 999)
        #expect(!bench.redis.names.contains("release"))
        bench.loop.advance(milliseconds: 1)
        #expect(bench.redis.waiting.map { Array($0.words.prefix(4)) } == [["release", DriverBench.name, "j/0", "3"]])
        #expect(bench.context.machine.isEmpty)
    }

    // MARK: Answers

    @Test func acceptedMessageIsRecorded() {
        send()
        answer(200, Self.accepted)
        bench.loop.advance(milliseconds: bench.context.configuration.flushMs)
        #expect(bench.redis.waiting.map { Array($0.words.prefix(2)) } == [["record", "j"]])
        bench.redis.answer(.pairs(["outcome": .text("ok")]))
        #expect(bench.context.machine.isEmpty)
        #expect(bench.context.meters.history.take().counts["sent"] == 1)
    }

    @Test func watermarkIsWrittenBeforeTheSend() {
        claim(watermark: 0)
        bench.redis.answer(Self.spec())
        bench.loop.advance(milliseconds: bench.context.configuration.flushMs)
        #expect(bench.redis.waiting.map(\.name) == ["record"] && channel.sent.isEmpty)
        bench.redis.answer(.pairs(["outcome": .text("ok")]))
        driver.send()
        #expect(channel.sent.count == 1)
    }

    @Test func refusedTokenIsReportedToTheCredential() {
        credential.generation = 3
        send()
        answer(401, #"{"error":{"code":401,"message":"no","status":"UNAUTHENTICATED"}}"#)
        #expect(credential.refusals == [3])
    }

    @Test func sendsWaitForTheLease() {
        bench.leases.hold("p", until: 0)
        claim()
        bench.redis.answer(Self.spec())
        #expect(channel.sent.isEmpty)
        bench.leases.hold("p", until: .max)
        driver.send()
        #expect(channel.sent.count == 1)
    }

    // MARK: Room and claims

    @Test func requestsWaitForAFreeSlot() {
        channel.freeSlots = 0
        claim()
        bench.redis.answer(Self.spec())
        #expect(channel.sent.isEmpty)
        channel.freeSlots = 1
        channel.onRoom()
        #expect(channel.sent.count == 1)
    }

    @Test func missingPermitsAreClaimed() {
        claim(permits: 0)
        claims.isStarved = []
        bench.redis.answer(Self.spec())
        #expect(channel.sent.isEmpty && claims.isStarved.contains(true))
        answerClaim(permits: 1)
        #expect(channel.sent.count == 1)
    }

    @Test func drainGivesUnsentRecipientsBack() {
        channel.freeSlots = 0
        claim()
        bench.redis.answer(Self.spec())
        _ = bench.redis.removeNames()
        driver.handle(.drain)
        bench.loop.advance(milliseconds: bench.context.configuration.flushMs)
        #expect(bench.redis.waiting.map { Array($0.words.prefix(2)) } == [["record", "j"]])
        bench.redis.answer(.pairs(["outcome": .text("ok")]))
        #expect(bench.context.machine.isEmpty && channel.sent.isEmpty)
    }

    // MARK: Shares of the fleet

    @Test func operationsWaitForTheirShareOfTheFleet() {
        claim()
        bench.redis.answer(Self.spec(["op": .text("subscribe"), "subscription": .text("news")]))
        #expect(bench.redis.waiting.map(\.words) == [["manage", "1"]] && channel.sent.isEmpty)
        bench.redis.answer(.integer(400))
        bench.loop.advance(milliseconds: 399)
        #expect(bench.redis.waiting.isEmpty)
        bench.loop.advance(milliseconds: 1)
        #expect(bench.redis.waiting.map(\.words) == [["manage", "1"]])
        bench.redis.refuse()
        bench.loop.advance(milliseconds: 1_000)
        #expect(bench.redis.waiting.map(\.words) == [["manage", "1"]])
        bench.redis.answer(.integer(0))
        #expect(channel.sent.map(\.request.route) == [.instanceID])
    }

    @Test func drainingWorkerAsksForNoShare() {
        claim()
        bench.redis.answer(Self.spec(["op": .text("subscribe"), "subscription": .text("news")]))
        bench.redis.answer(.integer(400))
        bench.runner.drain()
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.redis.names.count { $0 == "manage" } == 1)
    }
}
