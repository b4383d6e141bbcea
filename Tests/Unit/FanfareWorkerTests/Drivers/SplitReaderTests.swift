import FanfareCore
import StreamWire
import Testing

@testable import EventLoop
@testable import FanfareWorker

/// Which connection reads the streams of many projects.
@Suite struct SplitReaderTests {
    private let bench: ShardBench

    /// Past the pending entries, and quiet.
    init() throws {
        bench = try ShardBench((0..<ReadSplit.minimumStreams).map { .legacy("p\($0)") })
        bench.work()
        for _ in 0..<300 where sleeping.count < ReadSplit.minimumStreams || !waking.isEmpty {
            bench.serve(milliseconds: 50)
        }
    }

    private func connection(_ name: String) -> FakeConnection? { bench.connections(name).first }
    /// The streams of a connection's read in flight.
    private func streams(_ name: String) -> [String] {
        (connection(name)?.waiting.first?.words ?? []).filter { $0.hasSuffix(":jobs") }
    }
    private var waking: [String] { streams("reader") }
    private var sleeping: [String] { streams("sleeper") }

    private static func entry(of project: String) -> RedisValue {
        let fields = ["token", "t", "message", #"{"notification":{"title":"t"}}"#].map { RedisValue.text($0) }
        let entries = RedisValue.array([.array([.text("1-0"), .array(fields)])])
        return .array([.array([.text("fanfare:{\(project)}:jobs"), entries])])
    }

    @Test func quietStreamsHaveAReadOfTheirOwn() {
        #expect(sleeping.count == ReadSplit.minimumStreams && waking.isEmpty)
        #expect(connection("sleeper")?.waiting.first?.words.contains("4000") == true)
    }

    @Test func streamWithAnEntryIsReadByTheOtherConnectionAtOnce() {
        connection("sleeper")?.answer(Self.entry(of: "p7"))
        bench.loop.advance()
        #expect(waking == ["fanfare:{p7}:jobs"])
        #expect(!sleeping.isEmpty && !sleeping.contains("fanfare:{p7}:jobs"))
    }

    /// Redis may have delivered entries that never arrived.
    @Test func pendingEntriesAreReadAfterALostConnection() {
        connection("sleeper")?.lose()
        bench.loop.advance(milliseconds: 500)
        #expect(waking.count == 1)
        #expect(connection("reader")?.waiting.first?.words.last == "0")
    }

    @Test func fewStreamsNeedNoSecondConnection() throws {
        let bench = try ShardBench((1..<ReadSplit.minimumStreams).map { .legacy("p\($0)") })
        bench.work()
        #expect(bench.connections("reader").count == 1 && bench.connections("sleeper").isEmpty)
    }
}
