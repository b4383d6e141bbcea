import FanfareCore
import Testing

@Suite struct EntryAllowanceTests {
    @Test func aStreamThatNobodyKnowsIsAskedForOne() {
        let allowance = EntryAllowance()
        #expect(allowance.count(streams: 1) == 1)
        #expect(allowance.count(streams: 1_000) == 1)
    }

    @Test func smallEntriesAreSoonAskedForByTheHundreds() {
        var allowance = EntryAllowance()
        var counts: [Int] = []
        for _ in 0..<9 {
            allowance.took(largest: 400)
            counts.append(allowance.count(streams: 1))
        }
        #expect(counts == [2, 4, 8, 16, 32, 64, 128, 256, 256])
        for _ in 0..<20 { allowance.took(largest: 400) }
        #expect(allowance.count(streams: 80) == 256)
    }

    @Test func entriesLargerThanAnAnswerAreAskedForOneByOne() {
        var allowance = EntryAllowance()
        for _ in 0..<20 { allowance.took(largest: 400) }
        allowance.took(largest: 100_000_000)
        #expect(allowance.count(streams: 1) == 1)
        // The next large one is not met by 256 at once.
        allowance.took(largest: 400)
        #expect(allowance.count(streams: 1) == 2)
    }

    @Test(arguments: [1, 2, 5]) func whatIsAskedForFitsIfEntriesStayAsTheyAre(streams: Int) {
        for size in stride(from: 1_000, through: 1 << 20, by: 997) {
            var allowance = EntryAllowance()
            for _ in 0..<20 { allowance.took(largest: size) }
            #expect(allowance.count(streams: streams) * streams * size <= EntryAllowance.mostBytes)
        }
    }

    @Test func anAnswerWithoutEntriesSaysNothing() {
        var allowance = EntryAllowance()
        for _ in 0..<100 { allowance.took(largest: 0) }
        #expect(allowance.count(streams: 1) == 1)
    }

    @Test func anAnswerThatWasTooMuchIsAskedForAgainInParts() {
        var allowance = EntryAllowance()
        for _ in 0..<20 { allowance.took(largest: 400) }
        allowance.tookTooMuch()
        #expect(allowance.count(streams: 1) == 1)
    }
}
