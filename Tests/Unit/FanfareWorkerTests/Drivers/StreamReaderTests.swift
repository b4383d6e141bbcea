import FanfareCore
import RedisTransport
import StreamWire
import TestSupport
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// What is read from the job streams, when, and where the entries go.
@Suite struct StreamReaderTests {
    private let bench: DriverBench
    /// The reader's own connection.
    private let reads = FakeConnection()
    private let reader: StreamReader

    /// The project's group exists; the reader is not connected yet.
    init() throws {
        bench = try DriverBench()
        reader = StreamReader(loop: bench.loop, connection: reads, consumer: "w", logger: bench.heard.logger)
        bench.connect()
        _ = bench.redis.removeFirst()
        _ = bench.redis.removeNames()
        reader.add(bench.runner)
        reader.start()
    }

    private static let nothing = RedisValue.null
    private static let jobs = "fanfare:{p}:jobs"

    private static func entries(_ ids: [String]) -> RedisValue {
        let entry = ["token", "t", "message", #"{"notification":{"title":"t"}}"#].map { RedisValue.text($0) }
        return .array([.array([.text(jobs), .array(ids.map { .array([.text($0), .array(entry)]) })])])
    }

    /// The read in flight, without what never changes.
    private var read: String? {
        bench.loop.advance()
        guard reads.waiting.count < 2 else { return "several" }
        let words = reads.waiting.first?.words
        return words.map { $0.dropFirst(4).filter { $0 != "STREAMS" && $0 != Self.jobs }.joined(separator: " ") }
    }

    /// Past the pending entries, of which there are none: the first read of new ones is in flight.
    private func connect() {
        reads.becomeReady()
        reads.answer(Self.nothing)
        reads.answer(Self.nothing)
        bench.loop.advance(milliseconds: 20)
    }

    @Test func pendingEntriesAreReadBeforeNewOnes() {
        #expect(reads.hasConnected && read == nil)
        reads.becomeReady()
        #expect(reads.waiting[0].words[..<4] == ["XREADGROUP", "GROUP", "fanfare", "w"])
        #expect(read == "COUNT 1 0")
        reads.answer(Self.entries(["1-0"]))
        #expect(read?.hasSuffix(" 1-0") == true, "the next page")
        reads.answer(Self.nothing)
        #expect(read?.hasSuffix(" >") == true)
    }

    @Test func idleProjectIsReadWithOneBlockingReadAtATime() {
        connect()
        #expect(read == "COUNT 1 BLOCK 500 >")
        #expect(reads.waiting[0].timeoutMs == 10_500, "longer than it blocks")
        for _ in 0..<3 { reader.readIfPossible() }
        bench.loop.advance(milliseconds: 1_000)
        #expect(read == "COUNT 1 BLOCK 500 >")
        reads.answer(Self.nothing)
        #expect(read == "COUNT 1 BLOCK 500 >")
        #expect(reader.foundNothing)
    }

    @Test func entriesAreHandedOverAndTheNextReadBegins() {
        connect()
        reads.answer(Self.entries(["1-0", "2-0"]))
        #expect(bench.sent() == ["intakes"])
        #expect(!bench.intake.isIdle)
        #expect(read?.hasSuffix(" >") == true)
        #expect(!reader.foundNothing)
    }

    @Test(arguments: ["group", "lease", "comparison", "drain"]) func nothingIsReadWithout(_ condition: String) throws {
        let other = try ProjectRunner(context: bench.context)
        defer { other.close() }
        switch condition {
        case "group":
            reader.remove(bench.runner)
            reader.add(other)
        case "lease": bench.leases.hold("p", until: 0)
        case "comparison": bench.context.isReady = false
        default: bench.runner.drain()
        }
        reads.becomeReady()
        bench.loop.advance(milliseconds: 1_000)
        reader.readIfPossible()
        #expect(read == nil)
        guard condition == "lease" || condition == "comparison" else { return }
        bench.leases.hold("p", until: .max)
        bench.context.isReady = true
        bench.loop.advance(milliseconds: 20)
        #expect(read == "COUNT 1 0")
    }

    /// The answer may have been lost with the connection: its entries are pending.
    @Test func newConnectionBeginsWithPendingEntries() {
        connect()
        reads.lose()
        bench.loop.advance(milliseconds: 10_000)
        reader.readIfPossible()
        #expect(read == nil)
        #expect(reads.namesWhileAway == [])
        reads.becomeReady()
        #expect(read == "COUNT 1 0")
    }

    @Test func lostGroupIsMadeAgain() {
        connect()
        reads.refuse("NOGROUP No such key")
        #expect(bench.redis.waiting.map(\.words) == [["XGROUP", "CREATE", Self.jobs, "fanfare", "0", "MKSTREAM"]])
        #expect(bench.heard.messages.count == 1)
        #expect(read == nil)
        bench.loop.advance(milliseconds: 199)
        #expect(read == nil)
        bench.loop.advance(milliseconds: 1)
        #expect(read == "COUNT 1 BLOCK 500 >")
    }

    @Test func failedReadIsRepeatedAfterAPause() {
        connect()
        reads.refuse("OOM full")
        bench.loop.advance(milliseconds: 199)
        #expect(read == nil)
        bench.loop.advance(milliseconds: 1)
        #expect(read == "COUNT 1 BLOCK 500 >")
    }

    /// Small entries are read by hundreds, with a limit for all of them; after an answer that is too large, one by one.
    @Test func entriesThatAreTooLargeTogetherAreReadOneByOne() {
        connect()
        for number in 1...20 {
            reads.answer(Self.entries(["\(number)-0"]))
            bench.loop.advance()
            bench.redis.serve { _ in .text("duplicate") }
        }
        reads.answer(Self.nothing)
        #expect(reads.waiting.last?.words[5] == "256")
        let ofSeveral = reads.limits.maximumReplyBytes
        reads.fail(.protocolError)
        bench.loop.advance(milliseconds: 200)
        #expect(reads.waiting.last?.words[5] == "1")
        #expect(reads.limits.maximumReplyBytes > ofSeveral)
    }

    /// They stay pending: the next runner of the project reads them first.
    @Test func entriesOfARemovedProjectAreNotHandedOver() {
        connect()
        reader.remove(bench.runner)
        reads.answer(Self.entries(["1-0"]))
        #expect(bench.sent() == [])
        #expect(bench.intake.isIdle)
        reader.add(bench.runner)
        bench.loop.advance(milliseconds: 20)
        #expect(read == "COUNT 1 0")
    }

    @Test func nothingIsReadAfterStop() {
        connect()
        reader.stop()
        #expect(reads.state == .closed)
        reader.readIfPossible()
        bench.loop.advance(milliseconds: 10_000)
        #expect(read == nil)
        #expect(reads.namesWhileAway == [])
    }

    @Test func entriesThatWereTakenOverAreReadFromTheStart() {
        connect()
        reads.answer(Self.nothing)
        #expect(read == "COUNT 1 BLOCK 500 >")
        bench.intake.leftoversFound()
        reads.answer(Self.nothing)
        #expect(read == "COUNT 1 0")
        #expect(bench.intake.demand.leftovers == .none)
    }
}
