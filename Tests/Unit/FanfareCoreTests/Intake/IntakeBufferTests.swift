import Testing

@testable import FanfareCore

@Suite struct IntakeBufferTests {
    private typealias Buffer = IntakeBuffer<TestEntry>
    private static let second: UInt64 = 1_000_000_000

    private func begin(_ buffer: inout Buffer) -> [String] {
        var names: [String] = []
        while let entry = buffer.next() { names.append(entry.name) }
        return names
    }

    @Test func smallEntriesBeginTogetherAndInTheirOrder() {
        var buffer = Buffer()
        let entries = (0..<5).map { TestEntry("\($0)", 400) }
        for entry in entries { buffer.append(entry) }
        #expect(buffer.count == 5)
        #expect(begin(&buffer) == ["0", "1", "2", "3", "4"])
        #expect(buffer.count == 5 && buffer.room(now: 0) == Buffer.maximumEntries - 5)
        for entry in entries { buffer.finish(entry) }
        #expect(buffer.count == 0 && buffer.room(now: 0) == Buffer.maximumEntries)
    }

    @Test func largeEntriesBeginOneByOne() {
        var buffer = Buffer()
        let entries = ["a", "b", "c"].map { TestEntry($0, Buffer.maximumBytes + 1) }
        for entry in entries { buffer.append(entry) }
        #expect(begin(&buffer) == ["a"])
        #expect(buffer.count == 3 && buffer.room(now: 0) == 0, "nothing is read while others wait")
        #expect(buffer.isFull(now: 0) && !Buffer().isFull(now: 0))
        buffer.finish(entries[0])
        #expect(begin(&buffer) == ["b"])
        buffer.finish(entries[1])
        #expect(begin(&buffer) == ["c"] && buffer.room(now: 0) == 0, "nor while there are bytes enough")
        buffer.finish(entries[2])
        #expect(buffer.room(now: 0) == Buffer.maximumEntries)
    }

    @Test func smallEntryWaitsBehindALargeOne() {
        var buffer = Buffer()
        let (small, large) = (TestEntry("small", 10), TestEntry("large", Buffer.maximumBytes))
        for entry in [small, large, TestEntry("next", 10)] { buffer.append(entry) }
        #expect(begin(&buffer) == ["small", "large"])
        buffer.finish(small)
        #expect(begin(&buffer).isEmpty)
        buffer.finish(large)
        #expect(begin(&buffer) == ["next"])
    }

    @Test func failureLeavesWaitingEntriesOver() {
        var buffer = Buffer()
        let entries = ["a", "b", "c"].map { TestEntry($0, Buffer.maximumBytes) }
        for entry in entries { buffer.append(entry) }
        _ = buffer.next()
        let failedAt = 10 * Self.second
        buffer.fail(entries[0], now: failedAt)
        #expect(buffer.count == 0 && begin(&buffer).isEmpty)
        #expect(buffer.room(now: failedAt + Buffer.pauseNs - 1) == 0)
        #expect(
            buffer.room(now: failedAt + Buffer.pauseNs) == Buffer.maximumEntries,
            "new entries may be read before it"
        )
        #expect(buffer.leftovers(now: failedAt + Buffer.rereadNs - 1) == .later)
        #expect(buffer.leftovers(now: failedAt + Buffer.rereadNs) == .readable)
        buffer.rereadLeftovers()
        #expect(buffer.leftovers(now: failedAt + 5 * Self.second) == .none)
    }

    /// While all of them fail, each failure would put the next reading off for ever.
    @Test func furtherFailuresDoNotPostponeTheNextReading() {
        var buffer = Buffer()
        let entries = ["a", "b"].map { TestEntry($0, 1) }
        for entry in entries { buffer.append(entry) }
        _ = begin(&buffer)
        buffer.fail(entries[0], now: Self.second)
        buffer.fail(entries[1], now: 3 * Self.second / 2)
        #expect(buffer.leftovers(now: Self.second + Buffer.rereadNs) == .readable)
    }

    @Test func leftoversOfOthersAreReadWhenNothingIsInFlight() {
        var buffer = Buffer()
        let entry = TestEntry("a", 1)
        buffer.append(entry)
        _ = buffer.next()
        buffer.addLeftovers(now: 0)
        #expect(buffer.leftovers(now: 0) == .due, "the entry in flight may be among them")
        buffer.finish(entry)
        #expect(buffer.leftovers(now: 0) == .readable)
    }

    @Test func entriesInFlightAreBounded() {
        var buffer = Buffer()
        for number in 0..<Buffer.maximumEntries { buffer.append(TestEntry("\(number)", 1)) }
        #expect(begin(&buffer).count == Buffer.maximumEntries && buffer.room(now: 0) == 0)
    }
}

final class TestEntry: IntakeEntry, Equatable, Sendable {
    let name: String
    let byteCount: Int

    init(_ name: String, _ byteCount: Int) {
        self.name = name
        self.byteCount = byteCount
    }

    static func == (one: TestEntry, other: TestEntry) -> Bool { one === other }
}
