import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FCMWire
@testable import FanfareWorker
@testable import XMPPTransport

/// What is written of a message that a device sent, and when FCM gets its acknowledgement.
@Suite struct UpstreamQueueTests {
    /// What FCM was answered, by the ids of the messages.
    private final class Replies {
        var acknowledged: [String] = []
        var givenBack: [String] = []
    }

    private let bench: DriverBench
    private let queue: UpstreamQueue
    private let replies = Replies()

    init() throws {
        bench = try DriverBench()
        // Otherwise the project's keys are checked after an error.
        bench.context.redis.onRefused = { _ in }
        queue = UpstreamQueue(project: bench.context)
    }

    private func receive(_ id: String, _ kind: XMPPIncoming.Kind = .message) {
        let data = Array(#"{"k":"v"}"#.utf8)
        let incoming = XMPPIncoming(kind: kind, from: "t", category: "app", messageID: id, data: data)
        queue.append(
            incoming,
            XMPPReply(
                acknowledge: { [replies] in replies.acknowledged.append(id) },
                giveBack: { [replies] in replies.givenBack.append(id) }
            )
        )
    }

    /// The fields of the entry that waits for its answer.
    private func fields() -> [String: String] {
        let words = bench.redis.waiting.first?.words.dropFirst(3).map { $0 } ?? []
        return Dictionary(
            stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// The ids of the messages whose entries wait for their answer.
    private var waiting: [String] {
        bench.redis.waiting.compactMap { sent in sent.words.firstIndex(of: "message_id").map { sent.words[$0 + 1] } }
    }

    // MARK: The entry

    @Test func messageIsAddedToTheUpstreamStream() {
        receive("m")
        #expect(bench.redis.waiting.first?.words.prefix(3) == ["XADD", "fanfare:{p}:upstream", "*"])
        var fields = self.fields()
        #expect(fields.removeValue(forKey: "received_ms").flatMap { Int64($0) } ?? 0 > 1_700_000_000_000)
        #expect(
            fields == ["type": "message", "from": "t", "category": "app", "message_id": "m", "data": #"{"k":"v"}"#]
        )
    }

    private static let own = XMPPMessageID(job: "j", index: 7, attempt: 0, nonce: 255).description

    @Test(arguments: [UpstreamQueueTests.own, "another sender's"]) func receiptNamesTheJobOfAMessageOfFanfare(
        _ original: String
    ) {
        receive("m", .receipt(status: "MESSAGE_SENT_TO_DEVICE", originalMessageID: original, token: "t", sentMs: nil))
        let fields = self.fields()
        #expect(fields["type"] == "receipt" && fields["status"] == "MESSAGE_SENT_TO_DEVICE")
        #expect(fields["original_message_id"] == original && fields["token"] == "t")
        let isOwn = original == Self.own
        #expect(fields["job"] == (isOwn ? "j" : nil) && fields["i"] == (isOwn ? "7" : nil))
    }

    // MARK: The acknowledgement

    @Test func messageIsAcknowledgedOnceItIsWritten() {
        receive("m")
        #expect(replies.acknowledged == [])
        bench.redis.answer(.text("1-0"))
        #expect(replies.acknowledged == ["m"] && replies.givenBack == [])
    }

    @Test func refusedMessagesAreWrittenAgainInTheirOrder() {
        for id in ["a", "b"] { receive(id) }
        for _ in 0..<2 { bench.redis.refuse("OOM full") }
        receive("c")
        #expect(waiting == [], "no message overtakes another")
        bench.loop.advance(milliseconds: 99)
        #expect(waiting == [])
        bench.loop.advance(milliseconds: 1)
        #expect(waiting == ["a", "b", "c"])
        for _ in 0..<3 { bench.redis.answer(.text("1-0")) }
        #expect(replies.acknowledged == ["a", "b", "c"])
        #expect(bench.heard.messages.count == 1, "the warning is throttled")
    }

    @Test func messageWaitsForTheConnectionToRedis() {
        bench.redis.lose()
        receive("m")
        bench.loop.advance(milliseconds: 10_000)
        #expect(bench.redis.namesWhileAway == [])
        bench.redis.becomeReady()
        bench.loop.advance(milliseconds: 100)
        #expect(waiting == ["m"])
        #expect(bench.heard.messages == [])
    }

    @Test func messageBeyondTheBufferIsGivenBack() {
        for id in 0..<1_001 { receive(String(id)) }
        #expect(replies.givenBack == ["1000"])
        #expect(bench.redis.waiting.count == 1_000)
    }
}
