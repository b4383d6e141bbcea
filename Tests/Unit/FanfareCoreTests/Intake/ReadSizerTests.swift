import Testing

@testable import FanfareCore

@Suite struct ReadSizerTests {
    /// A stream that has given such entries for a while.
    private func stream(of bytes: Int) -> ReadSizer {
        var sizer = ReadSizer()
        for _ in 0..<20 { sizer.received(largest: bytes) }
        return sizer
    }

    private func count(_ sizer: ReadSizer) -> Int { ReadSizer.count([sizer]) }

    @Test func unknownStreamIsReadOneEntryAtATime() {
        #expect(count(ReadSizer()) == 1)
        let many = [ReadSizer](repeating: ReadSizer(), count: 100)
        #expect(ReadSizer.streams(many) == 1 && ReadSizer.count(many) == 1)
    }

    @Test func smallEntriesAreSoonReadByTheHundreds() {
        var sizer = ReadSizer()
        var counts: [Int] = []
        for _ in 0..<9 {
            sizer.received(largest: 400)
            counts.append(count(sizer))
        }
        #expect(counts == [2, 4, 8, 16, 32, 64, 128, 256, 256])
        let many = [ReadSizer](repeating: stream(of: 400), count: 80)
        #expect(ReadSizer.streams(many) == 80 && ReadSizer.count(many) == 256)
    }

    @Test func largeEntriesAreReadOneByOne() {
        var sizer = stream(of: 400)
        sizer.received(largest: 100_000_000)
        #expect(count(sizer) == 1)
        // The next large one is not met by 256 at once.
        sizer.received(largest: 400)
        #expect(count(sizer) == 2)
    }

    @Test(arguments: [1, 2, 5]) func entriesOfKnownSizeFitTheAnswer(streams: Int) {
        for size in stride(from: 1_000, through: 1 << 20, by: 997) {
            let all = [ReadSizer](repeating: stream(of: size), count: streams)
            #expect(ReadSizer.streams(all) == streams)
            #expect(ReadSizer.count(all) * streams * size <= ReadSizer.maximumBytes)
        }
    }

    /// Small entries of one project say nothing of another's.
    @Test func streamOfLargeEntriesIsReadAlone() {
        let (small, large) = (stream(of: 400), stream(of: 50_000_000))
        #expect(ReadSizer.streams([large, small, small]) == 1)
        #expect(ReadSizer.streams([small, small, large, small]) == 2)
        let medium = stream(of: 3 << 20)
        #expect(ReadSizer.streams([medium, medium, medium]) == 2)
        #expect(ReadSizer.count([medium, medium]) == 1)
    }

    @Test func emptyAnswersChangeLittle() {
        var never = ReadSizer()
        for _ in 0..<100 { never.received(largest: 0) }
        // Many such are asked together, and each may give one that is large.
        #expect(ReadSizer.streams([ReadSizer](repeating: never, count: 100)) == 32)
        #expect(ReadSizer.count([ReadSizer](repeating: never, count: 32)) == 1)
        #expect(count(never) == 1)
        // A busy one among them is not held to that.
        let busy = stream(of: 400)
        #expect(ReadSizer.streams([busy, never, never]) == 1 && count(busy) == 256)
        #expect(ReadSizer.streams([never, never, busy]) == 2)
        var large = stream(of: 50_000_000)
        for _ in 0..<100 { large.received(largest: 0) }
        #expect(count(large) == 1)
    }

    @Test func tooLargeAnswerIsFollowedByReadsOfOneEntry() {
        var sizer = stream(of: 400)
        sizer.answerWasTooLarge()
        #expect(count(sizer) == 1)
    }
}
